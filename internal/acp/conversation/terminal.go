package conversation

import (
	"slices"
	"strings"

	"gascity.dev/gc/internal/acp/protocol"
)

// maxTerminals is how many terminals are known: their output may come before the tool
// call that shows it.
const maxTerminals = 64

// terminal is what a command has printed that a tool call shows by its id.
type terminal struct {
	id   string
	text string // the end of it, at most maxOutput
	cut  int    // lines removed from its beginning
}

// part is a piece of a tool's output: a text, or a terminal.
type part struct{ text, terminal string }

// Printed adds to what the command of a terminal has printed, or replaces it. Tool calls
// that show the terminal change with it, also those that have ended.
func (c *Conversation) Printed(id, text string, replaces bool) {
	id = line(id)
	t := c.terminal(id)
	if t == nil {
		t = &terminal{id: id}
		c.terminals = append(c.terminals[max(0, len(c.terminals)-maxTerminals+1):], t)
	}
	text = prose(text)
	if replaces {
		t.text, t.cut = "", 0
	}
	var whole Tool
	setOutput(&whole, t.text+text)
	t.text, t.cut = whole.Output, t.cut+whole.Cut
	for _, e := range c.entries {
		if slices.ContainsFunc(e.parts, func(p part) bool { return p.terminal == id }) {
			tool := *e.item.Tool
			c.showTerminals(e, &tool)
			e.item.Tool = &tool
			c.changed(e)
		}
	}
	c.trim()
}

func (c *Conversation) terminal(id string) *terminal {
	i := slices.IndexFunc(c.terminals, func(t *terminal) bool { return t.id == id })
	if i < 0 {
		return nil
	}
	return c.terminals[i]
}

// withTerminals returns the pieces of a tool's output, nil if no terminal is among them.
func withTerminals(content protocol.List[protocol.ToolContent]) []part {
	var out []part
	any := false
	for _, p := range content {
		switch p.Type {
		case protocol.ContentTerminal:
			any = true
			out = append(out, part{terminal: line(p.TerminalID)})
		case protocol.ContentBlock:
			out = append(out, part{text: limited(unfenced(blockText(p.Block)), maxOutput)})
		case protocol.ContentDiff:
		default:
			out = append(out, part{text: "[" + line(p.Type) + "]"})
		}
	}
	if !any {
		return nil
	}
	return out
}

// showTerminals sets the output of a tool that shows terminals.
func (c *Conversation) showTerminals(e *entry, tool *Tool) {
	if len(e.parts) == 0 {
		return
	}
	var texts []string
	cut := 0
	for _, p := range e.parts {
		text := p.text
		if p.terminal != "" {
			text = unknownTerminal(p.terminal)
			if t := c.terminal(p.terminal); t != nil {
				text, cut = t.text, cut+t.cut
			}
		}
		if text = strings.TrimRight(text, "\n"); text != "" {
			texts = append(texts, text)
		}
	}
	setOutput(tool, strings.Join(texts, "\n"))
	tool.Cut += cut
}

// unknownTerminal stands for what a terminal shows that nobody told of.
func unknownTerminal(id string) string { return "[terminal " + id + "]" }
