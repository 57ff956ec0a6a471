package conversation

import (
	"strconv"
	"strings"

	"gascity.dev/gc/internal/acp/protocol"
)

// Limits of a conversation.
const (
	maxItems = 500
	maxBytes = 1 << 20 // of all items
	maxText  = 1 << 20 // of one item
	maxPlan  = 200     // steps
)

// textCut ends a text whose rest is not kept.
const textCut = "\n[the rest is cut]\n"

// Conversation is the state of one conversation.
type Conversation struct {
	entries []*entry
	tools   map[string]*entry // by call id; of several calls with one id the last
	plan    *entry            // of this turn

	terminals []*terminal // the latest
	dropped   int
	made      int
	bytes     int // of all entries

	version uint64
	state   uint64 // the version when something other than texts changed last

	echo string // what the agent may repeat of the last prompt

	mode, model setting
	commands    []Choice
	usage       Usage
	title       string
}

// entry is an item under construction.
type entry struct {
	item    Item
	message string // the protocol's id of the message
	text    strings.Builder
	full    bool   // text has reached its limit
	parts   []part // of a tool's output, if a terminal is among them
	bytes   int
}

// New returns an empty conversation.
func New() *Conversation { return &Conversation{tools: map[string]*entry{}} }

// Version grows with every change.
func (c *Conversation) Version() uint64 { return c.version }

// StateVersion is the version of the last change of anything other than the texts:
// mode, model, commands, usage, title, or how many tools run.
func (c *Conversation) StateVersion() uint64 { return c.state }

// Dropped returns how many items were dropped: those before the first of Items.
func (c *Conversation) Dropped() int { return c.dropped }

// Items returns the items, the oldest first. The list is the caller's; what the items
// refer to never changes.
func (c *Conversation) Items() []Item {
	out := make([]Item, len(c.entries))
	for i, e := range c.entries {
		out[i] = e.item
		if e.text.Len() > 0 {
			out[i].Text = e.text.String()
		}
	}
	return out
}

// Running returns how many tool calls have not ended.
func (c *Conversation) Running() int {
	n := 0
	for _, e := range c.tools {
		if !e.item.Done {
			n++
		}
	}
	return n
}

// Title returns the conversation's title, "" if it has none.
func (c *Conversation) Title() string { return c.title }

// Usage returns the conversation's usage.
func (c *Conversation) Usage() Usage { return c.usage }

// Commands returns the agent's commands.
func (c *Conversation) Commands() []Choice { return c.commands }

// AddPrompt adds a message to the agent. The id is unique among those of all prompts.
func (c *Conversation) AddPrompt(id, text, by string) {
	text = prose(text)
	c.echo = text
	c.add(&entry{item: Item{ID: id, Kind: Prompt, By: line(by), Text: limited(text, maxText), Done: true}})
}

// AddNotice adds a line of the host.
func (c *Conversation) AddNotice(text string) {
	c.add(&entry{item: Item{Kind: Notice, Text: limited(prose(text), maxText), Done: true}})
}

// EndTurn ends a turn, and everything open in it.
func (c *Conversation) EndTurn() {
	for _, e := range c.entries {
		if !e.item.Done {
			c.finish(e)
		}
	}
	c.plan, c.echo = nil, ""
	c.changedState()
	c.trim()
}

// Apply applies an update of the agent.
func (c *Conversation) Apply(u protocol.Update) {
	switch u.Kind {
	case protocol.UpdateUser:
		c.userChunk(u)
	case protocol.UpdateMessage:
		c.chunk(Message, u.MessageID, blockText(u.Content))
	case protocol.UpdateThought:
		c.chunk(Thought, u.MessageID, blockText(u.Content))
	case protocol.UpdateToolCall:
		c.toolCall(u.Tool, true)
	case protocol.UpdateTool:
		c.toolCall(u.Tool, false)
	case protocol.UpdatePlan:
		c.setPlan(u.Plan)
	case protocol.UpdateCommands:
		c.setCommands(u.Commands)
	case protocol.UpdateMode:
		c.choose(&c.mode, u.ModeID)
	case protocol.UpdateOptions:
		c.setOptions(u.Options)
	case protocol.UpdateUsage:
		c.setUsage(u.Usage)
	case protocol.UpdateInfo:
		if title := line(u.Title); title != "" && title != c.title {
			c.title = title
			c.changedState()
		}
	default:
		c.unknown(line(u.Kind))
	}
}

// unknown shows the name of an unknown update, once in a row.
func (c *Conversation) unknown(kind string) {
	text := "[" + kind + "]"
	if last := c.last(); kind == "" || last != nil && last.item.Kind == Notice && last.item.Text == text {
		return
	}
	c.AddNotice(text)
}

// userChunk adds what the agent says that it was asked, unless that is the prompt
// that it just got.
func (c *Conversation) userChunk(u protocol.Update) {
	text := blockText(u.Content)
	if rest, ok := strings.CutPrefix(c.echo, text); ok && c.last() != nil && c.last().item.Kind == Prompt {
		c.echo = rest
		return
	}
	c.chunk(Prompt, u.MessageID, text)
}

// chunk adds text to the last item, if that is of the same message, else to a new one.
func (c *Conversation) chunk(kind Kind, message, text string) {
	if text == "" {
		return
	}
	e := c.last()
	if e == nil || e.item.Done || e.item.Kind != kind || e.message != message {
		e = &entry{item: Item{Kind: kind}, message: message}
		c.add(e)
	}
	if e.full {
		return
	}
	if room := maxText - e.text.Len(); len(text) > room {
		text, e.full = head(text, room)+textCut, true
	}
	e.text.WriteString(text)
	c.changed(e)
	c.trim()
}

// setPlan changes the turn's plan.
func (c *Conversation) setPlan(list protocol.List[protocol.PlanEntry]) {
	if c.plan == nil && len(list) == 0 {
		return
	}
	if c.plan == nil {
		c.plan = &entry{item: Item{Kind: Plan}}
		c.add(c.plan)
	}
	steps := make([]PlanEntry, 0, min(len(list), maxPlan))
	for _, s := range list[:min(len(list), maxPlan)] {
		steps = append(steps, PlanEntry{Text: line(s.Content), Status: line(s.Status)})
	}
	c.plan.item.Plan = steps
	c.changed(c.plan)
	c.trim()
}

func (c *Conversation) last() *entry {
	if len(c.entries) == 0 {
		return nil
	}
	return c.entries[len(c.entries)-1]
}

// add appends an entry. A text before it is complete.
func (c *Conversation) add(e *entry) {
	if last := c.last(); last != nil && (last.item.Kind == Prompt || last.item.Kind == Message || last.item.Kind == Thought) && !last.item.Done {
		c.finish(last)
	}
	c.made++
	if e.item.ID == "" {
		e.item.ID = "item-" + strconv.Itoa(c.made)
	}
	c.entries = append(c.entries, e)
	c.changed(e)
	c.trim()
}

// finish makes an entry complete.
func (c *Conversation) finish(e *entry) {
	if e.text.Len() > 0 {
		e.item.Text = strings.Clone(e.text.String()) // without the room for more
		e.text.Reset()
	}
	e.item.Done = true
	c.changed(e)
}

// changed counts a change of an entry.
func (c *Conversation) changed(e *entry) {
	c.version++
	e.item.Version = c.version
	c.bytes -= e.bytes
	e.bytes = e.size()
	c.bytes += e.bytes
}

// changedState counts a change of what StateVersion is about.
func (c *Conversation) changedState() {
	c.version++
	c.state = c.version
}

func (e *entry) size() int {
	n := e.text.Len() + len(e.item.Text)
	for _, s := range e.item.Plan {
		n += len(s.Text)
	}
	if e.item.Tool != nil {
		n += e.item.Tool.size()
	}
	return n
}

// trim drops the oldest items beyond the limits. An item that is not complete stays,
// and those after it, up to twice the limits.
func (c *Conversation) trim() {
	n := 0
	for len(c.entries)-n > 1 {
		left := len(c.entries) - n
		if left <= maxItems && c.bytes <= maxBytes ||
			!c.entries[n].item.Done && left <= 2*maxItems && c.bytes <= 2*maxBytes {
			break
		}
		c.drop(c.entries[n])
		c.entries[n] = nil // the array stays for a while
		n++
	}
	if n == 0 {
		return
	}
	c.dropped += n
	c.version++
	c.entries = c.entries[n:]
}

func (c *Conversation) drop(e *entry) {
	c.bytes -= e.bytes
	if t := e.item.Tool; t != nil && c.tools[t.CallID] == e {
		delete(c.tools, t.CallID)
	}
	if c.plan == e {
		c.plan = nil
	}
}
