package conversation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/shell"
)

// Limits of a tool call.
const (
	maxCommand   = 64 << 10
	maxOutput    = 64 << 10
	maxDiff      = 64 << 10 // each side
	maxFullDiffs = 8        // with their texts, of those that are long
	maxLocations = 1000     // also of diffs
)

// ToolFor merges the tool call of a question into the conversation, in which it may
// not have been yet, and returns it.
func (c *Conversation) ToolFor(t protocol.ToolCall) Tool { return *c.toolCall(t, false) }

// toolCall merges an update of a tool call. An agent may begin a call with the
// id of one that has ended.
func (c *Conversation) toolCall(t protocol.ToolCall, begins bool) *Tool {
	id := line(t.ID)
	if id == "" {
		id = "call-" + strconv.Itoa(c.made+1)
	}
	e := c.tools[id]
	if e == nil || begins && e.item.Done {
		e = &entry{item: Item{Kind: Call, Tool: &Tool{CallID: id, Status: ToolPending}}}
		c.tools[id] = e
		c.add(e)
		c.changedState()
	}
	if p := t.Printed(); p != nil {
		c.Printed(p.Terminal, p.Text, p.Replaces)
	}
	tool := merge(*e.item.Tool, t)
	if t.Content != nil {
		e.parts = withTerminals(t.Content)
	}
	c.showTerminals(e, &tool)
	e.item.Tool = &tool
	if !e.item.Done && (tool.Status == ToolCompleted || tool.Status == ToolFailed) {
		e.item.Done = true
		c.changedState()
	}
	c.changed(e)
	c.trim()
	return &tool
}

// merge returns the tool with what the update says; the rest keeps its value. Lists
// are replaced, never changed: earlier copies of the tool have them, too.
func merge(tool Tool, u protocol.ToolCall) Tool {
	set(&tool.Title, line(u.Title))
	set(&tool.Kind, line(u.Kind))
	set(&tool.Status, line(u.Status))
	set(&tool.Name, line(u.ToolName()))
	set(&tool.Command, limited(exact(commandOf(u.RawInput)), maxCommand))
	if tool.Command == "" {
		set(&tool.Input, limited(exact(argumentsOf(u.RawInput)), maxCommand))
	}
	if tool.Name != "" && strings.HasPrefix(tool.Title, "{") { // Qwen: the arguments
		tool.Title = tool.Name
	}
	if len(u.Locations) > 0 { // an empty list in a question does not unsay them
		tool.Locations = locations(u.Locations)
	}
	if u.Content != nil {
		setContent(&tool, u.Content)
	}
	if tool.Output == "" && len(tool.Diffs) == 0 {
		setOutput(&tool, prose(rawText(u.RawOutput)))
	}
	return tool
}

func set(to *string, value string) {
	if value != "" {
		*to = value
	}
}

// locations returns the paths. If there are too many, the last one is none, so that
// no rule about paths holds for all of them.
func locations(list protocol.List[protocol.Location]) []string {
	var out []string
	for _, l := range list[:min(len(list), maxLocations)] {
		out = append(out, name(l.Path))
	}
	if len(list) > maxLocations {
		out = append(out, fmt.Sprintf("[%d more]", len(list)-maxLocations))
	}
	return out
}

// setContent replaces output and diffs.
func setContent(tool *Tool, content protocol.List[protocol.ToolContent]) {
	tool.Diffs = nil
	var parts []string
	for _, p := range content {
		switch p.Type {
		case protocol.ContentBlock:
			parts = append(parts, unfenced(blockText(p.Block)))
		case protocol.ContentDiff:
			tool.Diffs = addDiff(tool.Diffs, p)
		case protocol.ContentTerminal:
			parts = append(parts, unknownTerminal(line(p.TerminalID)))
		default:
			parts = append(parts, "["+line(p.Type)+"]")
		}
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	setOutput(tool, strings.Join(parts, "\n"))
}

// addDiff adds a diff. Beyond the limits only the path stays, at last none, so that a
// rule about paths sees all of them or does not hold.
func addDiff(list []Diff, p protocol.ToolContent) []Diff {
	switch {
	case len(list) > maxLocations:
		return list
	case len(list) == maxLocations:
		return append(list, Diff{Path: "[more]"})
	}
	d := Diff{name(p.Path), limited(source(p.OldText), maxDiff), limited(source(p.NewText), maxDiff)}
	size := d.size()
	for _, other := range list {
		size += other.size()
	}
	if size > maxFullDiffs*maxDiff {
		d.Old, d.New = "", textCut
	}
	return append(list, d)
}

// setOutput keeps the end of a text, from the beginning of a line.
func setOutput(tool *Tool, text string) {
	tool.Output, tool.Cut = text, 0
	if len(text) <= maxOutput {
		return
	}
	at := len(text) - maxOutput
	if i := strings.IndexByte(text[at:], '\n'); i >= 0 && i < maxOutput/2 {
		at += i + 1
	}
	tool.Output = strings.ToValidUTF8(text[at:], "") // a long line may be cut anywhere
	tool.Cut = max(1, strings.Count(text[:at], "\n"))
}

func (t *Tool) size() int {
	n := len(t.Title) + len(t.Command) + len(t.Input) + len(t.Output)
	for _, d := range t.Diffs {
		n += d.size()
	}
	for _, l := range t.Locations {
		n += len(l)
	}
	return n
}

func (d Diff) size() int { return len(d.Path) + len(d.Old) + len(d.New) }

// unfenced removes the fence of a text that is one Markdown code block.
func unfenced(text string) string {
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	body, ok = strings.CutSuffix(strings.TrimRight(body, "\n"), "\n```")
	if !ok || strings.Contains(body, "\n```") {
		return text
	}
	_, body, ok = strings.Cut(body, "\n")
	if !ok {
		return text
	}
	return body
}

// commandOf returns the command line in a tool's input, without the shell that an
// agent puts around it; "" if there is none.
func commandOf(input json.RawMessage) string {
	var in map[string]json.RawMessage // a struct would also take a "COMMAND", which is not what runs
	_ = json.Unmarshal(input, &in)
	var text string
	if json.Unmarshal(in["command"], &text) == nil {
		return script(text)
	}
	var words []string
	if json.Unmarshal(in["command"], &words) != nil {
		return ""
	}
	if len(words) == 3 && isShell(words[0], words[1]) {
		return words[2]
	}
	for i, w := range words {
		words[i] = shell.Word(w)
	}
	return strings.Join(words, " ")
}

// argumentsOf returns a tool's input in one line, "" without any. Codex puts the
// arguments of an MCP tool beside its name.
func argumentsOf(input json.RawMessage) string {
	var in map[string]json.RawMessage
	_ = json.Unmarshal(input, &in)
	var inner map[string]json.RawMessage
	if in["server"] != nil && in["tool"] != nil && json.Unmarshal(in["arguments"], &inner) == nil {
		in, input = inner, in["arguments"]
	}
	var b bytes.Buffer
	if len(in) == 0 || json.Compact(&b, input) != nil {
		return ""
	}
	return b.String()
}

// script returns the quoted script of "bash -lc 'script'"; any other command as it is.
func script(command string) string {
	program, rest, _ := strings.Cut(command, " ")
	option, quoted, ok := strings.Cut(rest, " ")
	if !ok || !isShell(program, option) {
		return command
	}
	if text, ok := shell.Unquote(quoted); ok {
		return text
	}
	if shell.Word(quoted) == quoted { // one word that needs no quotes
		return quoted
	}
	return command
}

func isShell(program, option string) bool {
	return slices.Contains([]string{"sh", "bash", "zsh"}, path.Base(program)) && (option == "-c" || option == "-lc")
}

// rawText returns the text in a tool's raw output, which has no fixed form.
func rawText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var mcp struct { // the result of an MCP tool, as Codex passes it on
		Result struct{ Content protocol.List[protocol.Block] }
	}
	if json.Unmarshal(raw, &mcp) == nil && len(mcp.Result.Content) > 0 {
		var parts []string
		for _, b := range mcp.Result.Content {
			parts = append(parts, blockText(b))
		}
		return strings.Join(parts, "\n")
	}
	var out struct{ Output, Content, Error, Message string }
	_ = json.Unmarshal(raw, &out)
	for _, s := range []string{out.Output, out.Content, out.Error, out.Message} {
		if s != "" {
			return s
		}
	}
	return ""
}

// blockText returns a block as text: other content is named in brackets.
func blockText(b protocol.Block) string {
	switch b.Type {
	case "":
		return ""
	case protocol.BlockText:
		return prose(b.Text)
	case protocol.BlockImage, protocol.BlockAudio:
		return fmt.Sprintf("[%s, %s]", b.Type, size(b.Size()))
	case protocol.BlockLink:
		if b.Name == "" {
			return line(b.URI)
		}
		return line(b.Name)
	case protocol.BlockResource:
		if b.Resource != nil && b.Resource.URI != "" {
			return "[resource " + line(path.Base(b.Resource.URI)) + "]"
		}
	}
	return "[" + line(b.Type) + "]"
}

// size is a number of bytes for a person.
func size(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
