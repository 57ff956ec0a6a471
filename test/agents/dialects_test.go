//go:build agents

package agents

import (
	"encoding/json"
	"slices"
	"strings"
)

func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return responses{}
	case strings.HasSuffix(path, "/chat/completions"):
		return chat{}
	case strings.HasSuffix(path, "enerateContent"):
		return gemini{stream: strings.Contains(path, "stream")}
	}
	return nil
}

// obj is a JSON object.
type obj = map[string]any

// part is a piece of a message; a bare string is a text part.
type part struct {
	Type             string          `json:"type"`
	Text             string          `json:"text"`
	Content          json.RawMessage `json:"content"`          // of a tool's result
	FunctionResponse json.RawMessage `json:"functionResponse"` // gemini's tool result
}

// parts reads content that is a string or a list of parts.
type parts []part

func (p *parts) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*p = parts{{Type: "text", Text: s}}
		return nil
	}
	return json.Unmarshal(b, (*[]part)(p))
}

// text joins the texts, without those added by an agent itself.
func (p parts) text() string {
	var out []string
	for _, x := range p {
		if x.Text != "" && !strings.HasPrefix(x.Text, "<system-reminder>") {
			out = append(out, x.Text)
		}
	}
	return strings.Join(out, "\n")
}

// shellNames are the agents' names of the tool that runs a command.
var shellNames = []string{"Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell", "mcp__acp__Bash"}

func shellOf(names []string) string {
	for _, n := range shellNames {
		if slices.Contains(names, n) {
			return n
		}
	}
	return ""
}

// said adds a user's message, if it holds any text.
func (r *request) said(text string) {
	if strings.TrimSpace(text) != "" {
		r.Users = append(r.Users, text)
		r.Results = nil
	}
}

// anthropic is POST /v1/messages.
type anthropic struct{}

func (anthropic) decode(body []byte, r *request) error {
	var in struct {
		Messages []struct {
			Role    string
			Content parts
		}
		Tools  []struct{ Name string }
		Stream bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	r.Dialect, r.Stream = "anthropic", in.Stream
	var names []string
	for _, t := range in.Tools {
		names = append(names, t.Name)
	}
	r.Tools, r.Shell = names, shellOf(names)
	for _, m := range in.Messages {
		if m.Role != "user" {
			continue
		}
		r.said(m.Content.text())
		for _, p := range m.Content {
			if p.Type == "tool_result" {
				r.Results = append(r.Results, string(p.Content))
			}
		}
	}
	return nil
}

func (anthropic) whole(text string) any {
	return obj{"id": "msg_1", "type": "message", "role": "assistant", "model": "stub", "stop_reason": "end_turn",
		"content": []any{obj{"type": "text", "text": text}}, "usage": obj{"input_tokens": 10, "output_tokens": 5}}
}

func (anthropic) open(w *stream) {
	w.event("message_start", obj{"type": "message_start", "message": obj{"id": "msg_" + w.id, "type": "message", "role": "assistant",
		"model": "stub", "content": []any{}, "usage": obj{"input_tokens": 10, "output_tokens": 1}}})
}

func (anthropic) text(w *stream, piece string) {
	if w.indexes == 0 {
		w.event("content_block_start", obj{"type": "content_block_start", "index": 0, "content_block": obj{"type": "text", "text": ""}})
		w.indexes = 1
	}
	w.event("content_block_delta", obj{"type": "content_block_delta", "index": 0, "delta": obj{"type": "text_delta", "text": piece}})
}

func (anthropic) tool(w *stream, name, args string) {
	w.indexes = 1
	w.event("content_block_start", obj{"type": "content_block_start", "index": 0,
		"content_block": obj{"type": "tool_use", "id": "toolu_" + w.id, "name": name, "input": obj{}}})
	w.event("content_block_delta", obj{"type": "content_block_delta", "index": 0,
		"delta": obj{"type": "input_json_delta", "partial_json": args}})
}

func (anthropic) close(w *stream, usedTool bool) {
	stop := "end_turn"
	if usedTool {
		stop = "tool_use"
	}
	if w.indexes > 0 {
		w.event("content_block_stop", obj{"type": "content_block_stop", "index": 0})
	}
	w.event("message_delta", obj{"type": "message_delta", "delta": obj{"stop_reason": stop}, "usage": obj{"output_tokens": 5}})
	w.event("message_stop", obj{"type": "message_stop"})
}

// commandArgs returns the JSON arguments with which the named tool runs
// command; more: outside the sandbox, if the tool supports that.
func commandArgs(tool, command string, more bool) string {
	args := obj{"command": command, "description": "what the user asked for"}
	switch tool {
	case "run_shell_command":
		args["is_background"] = false
	case "exec_command":
		args = obj{"cmd": command}
	case "mcp__acp__Bash":
		args["timeout"] = 60_000
	case "shell":
		args = obj{"command": []string{"bash", "-lc", command}}
	}
	if more && (tool == "exec_command" || strings.HasPrefix(tool, "shell")) {
		args["sandbox_permissions"], args["justification"] = "require_escalated", "the user asked for it"
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings only
	}
	return string(b)
}

// toolCall returns the call with which a model reaches the tool of an MCP server, and
// whether it reaches it: some agents let their model search for the tools first, and Qwen
// lets it call what it has found by another tool.
func toolCall(tools []string, want string, searched bool) (name, args string, reached bool) {
	if i := slices.IndexFunc(tools, func(n string) bool { return strings.HasSuffix(n, want) }); i >= 0 {
		return tools[i], "{}", true
	}
	if searched && slices.Contains(tools, "tool_call") {
		return "tool_call", `{"name":"mcp__gc__` + want + `","arguments":{}}`, true
	}
	for _, n := range []string{"ToolSearch", "tool_search"} {
		if !searched && slices.Contains(tools, n) {
			return n, `{"query":"` + strings.ReplaceAll(want, "_", " ") + `","max_results":5}`, false
		}
	}
	return "", "", true
}

// responses is OpenAI's POST /v1/responses.
type responses struct{}

func (responses) decode(body []byte, r *request) error {
	var in struct {
		Input []struct {
			Type, Role string
			Content    parts
			Output     json.RawMessage
		}
		Tools []struct {
			Name  string
			Tools []struct{ Name string } // of a namespace
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	r.Dialect = "responses"
	var names []string
	for _, t := range in.Tools {
		names = append(names, t.Name)
		for _, inner := range t.Tools {
			names = append(names, t.Name+"/"+inner.Name)
		}
	}
	r.Tools, r.Shell = names, shellOf(names)
	for _, m := range in.Input {
		switch {
		case m.Role == "user":
			r.said(m.Content.text())
		case m.Type == "function_call_output":
			r.Results = append(r.Results, string(m.Output))
		}
	}
	return nil
}

func (responses) whole(string) any { return obj{} }

func (responses) open(w *stream) {
	w.event("response.created", obj{"type": "response.created", "response": obj{"id": "r" + w.id}})
}

func (responses) text(w *stream, piece string) {
	if w.indexes == 0 {
		w.event("response.output_item.added", obj{"type": "response.output_item.added", "output_index": 0,
			"item": obj{"type": "message", "role": "assistant", "id": "m" + w.id, "content": []any{}}})
		w.indexes = 1
	}
	w.event("response.output_text.delta", obj{"type": "response.output_text.delta", "item_id": "m" + w.id,
		"output_index": 0, "content_index": 0, "delta": piece})
}

func (responses) tool(w *stream, name, args string) {
	item := obj{"type": "function_call", "id": "f" + w.id, "call_id": "call_" + w.id, "name": name, "arguments": args}
	if space, inner, ok := strings.Cut(name, "/"); ok {
		item["namespace"], item["name"] = space, inner
	}
	w.event("response.output_item.done", obj{"type": "response.output_item.done", "output_index": 0, "item": item})
}

func (responses) close(w *stream, usedTool bool) {
	if !usedTool {
		w.event("response.output_item.done", obj{"type": "response.output_item.done", "output_index": 0, "item": obj{
			"type": "message", "role": "assistant", "id": "m" + w.id, "content": []any{obj{"type": "output_text", "text": "Stub answer, done."}}}})
	}
	w.event("response.completed", obj{"type": "response.completed", "response": obj{"id": "r" + w.id, "usage": obj{
		"input_tokens": 1, "output_tokens": 1, "total_tokens": 2,
		"input_tokens_details": obj{"cached_tokens": 0}, "output_tokens_details": obj{"reasoning_tokens": 0}}}})
}

// chat is OpenAI's POST /v1/chat/completions.
type chat struct{}

func (chat) decode(body []byte, r *request) error {
	var in struct {
		Messages []struct {
			Role    string
			Content parts
		}
		Tools []struct {
			Function struct{ Name string }
		}
		Stream bool
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	r.Dialect, r.Stream = "chat", in.Stream
	var names []string
	for _, t := range in.Tools {
		names = append(names, t.Function.Name)
	}
	r.Tools, r.Shell = names, shellOf(names)
	for _, m := range in.Messages {
		switch m.Role {
		case "user":
			r.said(m.Content.text())
		case "tool":
			r.Results = append(r.Results, m.Content.text())
		}
	}
	return nil
}

func (chat) whole(text string) any {
	return obj{"id": "c1", "object": "chat.completion", "created": 1, "model": "stub", "choices": []any{obj{
		"index": 0, "message": obj{"role": "assistant", "content": text}, "finish_reason": "stop"}},
		"usage": obj{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
}

func (chat) chunk(w *stream, delta obj, finish any) {
	w.event("", obj{"id": "c" + w.id, "object": "chat.completion.chunk", "created": 1, "model": "stub",
		"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": finish}}})
}

func (c chat) open(w *stream) { c.chunk(w, obj{"role": "assistant", "content": ""}, nil) }

func (c chat) text(w *stream, piece string) { c.chunk(w, obj{"content": piece}, nil) }

func (c chat) tool(w *stream, name, args string) {
	c.chunk(w, obj{"tool_calls": []any{obj{"index": 0, "id": "call_" + w.id, "type": "function",
		"function": obj{"name": name, "arguments": args}}}}, nil)
}

func (c chat) close(w *stream, usedTool bool) {
	finish := "stop"
	if usedTool {
		finish = "tool_calls"
	}
	c.chunk(w, obj{}, finish)
	w.event("", obj{"id": "c" + w.id, "object": "chat.completion.chunk", "created": 1, "model": "stub", "choices": []any{},
		"usage": obj{"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}})
	w.event("", "[DONE]")
}

// gemini is POST …:generateContent and …:streamGenerateContent.
type gemini struct{ stream bool }

func (g gemini) decode(body []byte, r *request) error {
	var in struct {
		Contents []struct {
			Role  string
			Parts parts
		}
		Tools []struct {
			FunctionDeclarations []struct{ Name string }
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return err
	}
	r.Dialect, r.Stream = "gemini", g.stream
	var names []string
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			names = append(names, f.Name)
		}
	}
	r.Tools, r.Shell = names, shellOf(names)
	for _, c := range in.Contents {
		if c.Role != "user" {
			continue
		}
		r.said(c.Parts.text())
		for _, p := range c.Parts {
			if p.FunctionResponse != nil {
				r.Results = append(r.Results, string(p.FunctionResponse))
			}
		}
	}
	return nil
}

func geminiChunk(finish string, part obj) obj {
	c := obj{"content": obj{"role": "model", "parts": []any{part}}, "index": 0}
	if finish != "" {
		c["finishReason"] = finish
	}
	return obj{"candidates": []any{c}, "modelVersion": "stub",
		"usageMetadata": obj{"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
}

func (gemini) whole(text string) any { return geminiChunk("STOP", obj{"text": text}) }

func (gemini) open(*stream) {}

func (gemini) text(w *stream, piece string) { w.event("", geminiChunk("", obj{"text": piece})) }

func (gemini) tool(w *stream, name, args string) {
	w.event("", geminiChunk("STOP", obj{"functionCall": obj{"name": name, "args": json.RawMessage(args)}}))
}

func (gemini) close(w *stream, usedTool bool) {
	if !usedTool {
		w.event("", geminiChunk("STOP", obj{"text": " "}))
	}
}
