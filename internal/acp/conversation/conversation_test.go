package conversation

import (
	"encoding/json"
	"fmt"
	goruntime "runtime"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/protocol"
	"github.com/google/go-cmp/cmp"
)

// apply applies updates that are written as an agent writes them.
func apply(t testing.TB, c *Conversation, updates ...string) {
	t.Helper()
	for _, raw := range updates {
		var u protocol.Update
		if err := protocol.Decode([]byte(raw), &u); err != nil {
			t.Fatalf("%s: %v", raw, err)
		}
		c.Apply(u)
	}
}

func chunk(kind, message, text string) string {
	b, _ := json.Marshal(map[string]any{"sessionUpdate": kind, "messageId": message, "content": map[string]string{"type": "text", "text": text}})
	return string(b)
}

// texts are the items as "kind text".
func texts(c *Conversation) []string {
	var out []string
	for _, it := range c.Items() {
		text := it.Text
		if it.Tool != nil {
			text = it.Tool.Title
		}
		open := ""
		if !it.Done {
			open = " …"
		}
		out = append(out, fmt.Sprintf("%s %s%s", it.Kind, text, open))
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func lastTool(t *testing.T, c *Conversation) Tool {
	t.Helper()
	items := c.Items()
	if len(items) == 0 || items[len(items)-1].Tool == nil {
		t.Fatalf("the last item is no tool call: %q", texts(c))
	}
	return *items[len(items)-1].Tool
}

func TestChunksJoin(t *testing.T) {
	const message, thought = protocol.UpdateMessage, protocol.UpdateThought
	tool := `{"sessionUpdate":"tool_call","toolCallId":"t","title":"T","status":"in_progress"}`
	for _, c := range []struct {
		name string
		do   func(*Conversation)
		want []string
	}{
		{"same message", func(c *Conversation) { apply(t, c, chunk(message, "m", "a"), chunk(message, "m", "b")) }, []string{"message ab …"}},
		{"no ids", func(c *Conversation) { apply(t, c, chunk(message, "", "a"), chunk(message, "", "b")) }, []string{"message ab …"}},
		{"another id", func(c *Conversation) {
			apply(t, c, chunk(message, "m", "a"), chunk(message, "n", "b"), chunk(message, "", "c"))
		}, []string{"message a", "message b", "message c …"}},
		{"another kind", func(c *Conversation) {
			apply(t, c, chunk(thought, "m", "a"), chunk(message, "m", "b"), chunk(thought, "m", "c"))
		}, []string{"thought a", "message b", "thought c …"}},
		{"a tool between", func(c *Conversation) {
			apply(t, c, chunk(message, "", "a"), tool, chunk(message, "", "b"))
		}, []string{"message a", "tool T …", "message b …"}},
		{"an update of an older tool between", func(c *Conversation) {
			apply(t, c, tool, chunk(message, "", "a"), `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed"}`, chunk(message, "", "b"))
		}, []string{"tool T", "message ab …"}},
		{"usage between", func(c *Conversation) {
			apply(t, c, chunk(message, "", "a"), `{"sessionUpdate":"usage_update","used":1,"size":2}`, `{"sessionUpdate":"session_info_update"}`, chunk(message, "", "b"))
		}, []string{"message ab …"}},
		{"a prompt between", func(c *Conversation) {
			apply(t, c, chunk(message, "", "a"))
			c.AddPrompt("p", "and", "")
			apply(t, c, chunk(message, "", "b"))
		}, []string{"message a", "prompt and", "message b …"}},
		{"a notice between", func(c *Conversation) {
			apply(t, c, chunk(message, "", "a"))
			c.AddNotice("note")
			apply(t, c, chunk(message, "", "b"))
		}, []string{"message a", "notice note", "message b …"}},
		{"the end of the turn between", func(c *Conversation) {
			apply(t, c, chunk(message, "", "a"))
			c.EndTurn()
			apply(t, c, chunk(message, "", "b"))
		}, []string{"message a", "message b …"}},
		{"empty chunks", func(c *Conversation) {
			apply(t, c, chunk(message, "", ""), chunk(message, "", "\x1b[0m"), chunk(thought, "", ""), `{"sessionUpdate":"agent_message_chunk"}`)
		}, nil},
		{"other content", func(c *Conversation) {
			apply(t, c, chunk(message, "", "see "),
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"`+strings.Repeat("AAAA", 4000)+`"}}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"audio","data":"AAA="}}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource_link","name":"a.go","uri":"file:///x/a.go"}}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"file:///x/b.go","text":"secret"}}}`,
				`{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram"}}`)
		}, []string{"message see [image, 12 kB][audio, 2 B]a.go[resource b.go][hologram] …"}},
	} {
		conv := New()
		c.do(conv)
		same(t, c.name, texts(conv), c.want)
	}
}

// Some agents repeat the prompt; others report prompts that are not ours.
func TestPromptsOfTheAgent(t *testing.T) {
	const user = protocol.UpdateUser
	c := New()
	c.AddPrompt("p", "fix the\x1b[1m test", "somebody")
	apply(t, c, chunk(user, "u", "fix the"), chunk(user, "u", " test"), chunk(protocol.UpdateMessage, "", "ok"), chunk(user, "v", "fix"))
	same(t, "items", texts(c), []string{"prompt fix the test", "message ok", "prompt fix …"})
	if it := c.Items()[0]; it.ID != "p" || it.By != "somebody" {
		t.Errorf("the prompt is %+v", it)
	}
}

func TestToolCallsMerge(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Terminal","kind":"execute","status":"pending","rawInput":{},"content":[],"locations":[{"path":"/p/a"}]}`)
	same(t, "begun", lastTool(t, c), Tool{CallID: "t", Kind: "execute", Title: "Terminal", Status: ToolPending, Locations: []string{"/p/a"}})
	before := c.Items()

	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"go test","rawInput":{"command":"go test ./..."},"content":[{"type":"content","content":{"type":"text","text":"one"}}],"locations":[]}`)
	want := Tool{CallID: "t", Kind: "execute", Title: "go test", Status: ToolPending, Command: "go test ./...", Output: "one", Locations: []string{"/p/a"}}
	same(t, "updated", lastTool(t, c), want)

	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"in_progress","title":null,"content":null,"kind":7,"_meta":{}}`)
	want.Status = ToolRunning
	same(t, "what is absent stays", lastTool(t, c), want)
	if c.Running() != 1 {
		t.Errorf("%d tools run, want 1", c.Running())
	}

	state := c.StateVersion()
	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"failed","content":[{"type":"content","content":{"type":"text","text":"two"}},{"type":"widget"},{"type":"terminal","terminalId":"T1"},
		{"type":"diff","path":"/p/a","oldText":"a\r\n","newText":"b\r\n"},{"type":"diff","path":"/p/new","newText":"n"}],"rawOutput":"not shown"}`)
	want.Status, want.Output = ToolFailed, "two\n[widget]\n[terminal T1]"
	want.Diffs = []Diff{{"/p/a", "a\n", "b\n"}, {"/p/new", "", "n"}}
	same(t, "content replaces", lastTool(t, c), want)
	if c.Running() != 0 || c.StateVersion() == state || !c.Items()[0].Done {
		t.Errorf("%d tools run after the end", c.Running())
	}
	if before[0].Tool.Title != "Terminal" || before[0].Done {
		t.Errorf("an item that was handed out has changed: %+v", before[0].Tool)
	}

	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"again"}`)
	if len(c.Items()) != 2 || lastTool(t, c).Command != "" {
		t.Errorf("a call with a used id is %q", texts(c))
	}
	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"once more"}`)
	if len(c.Items()) != 2 || lastTool(t, c).Title != "once more" {
		t.Errorf("a call reported twice is %q", texts(c))
	}
	c.EndTurn()
	if it := c.Items()[1]; !it.Done || it.Tool.Status != ToolPending {
		t.Errorf("after the turn: %+v, %+v", it, it.Tool)
	}
}

// A question about a tool without a command or a file shows its arguments, as the five
// vendors' agents send those of MCP tools.
func TestArguments(t *testing.T) {
	for agent, c := range map[string]struct{ update, title, args, file string }{
		"Claude":                              {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"mcp__db__query","kind":"other","status":"pending","rawInput":{"sql": "drop table x"},"_meta":{"claudeCode":{"toolName":"mcp__db__query"}}}`, "mcp__db__query", `{"sql":"drop table x"}`, ""},
		"Codex":                               {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"mcp.db.query","kind":"execute","status":"in_progress","rawInput":{"server":"db","tool":"query","arguments":{"sql":"drop table x"}}}`, "mcp.db.query", `{"sql":"drop table x"}`, ""},
		"Gemini":                              {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"query (db MCP Server)","kind":"other","status":"pending","content":[{"type":"content","content":{"type":"text","text":"{\"sql\":\"drop table x\"}"}}]}`, "query (db MCP Server)", `{"sql":"drop table x"}`, ""},
		"Qwen":                                {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"{\"sql\":\"drop table x\"}","kind":"other","status":"pending","rawInput":{"sql":"drop table x"},"_meta":{"toolName":"mcp__db__query"}}`, "mcp__db__query", `{"sql":"drop table x"}`, ""},
		"none":                                {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"list","kind":"other","rawInput":{}}`, "list", "", ""},
		"a file":                              {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Read a","kind":"read","rawInput":{"file_path":"/w/a"},"locations":[{"path":"/w/a"}]}`, "Read a", "", ""},
		"a file that the title does not name": {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"Change the config","kind":"edit","locations":[{"path":"/w/c.json"}]}`, "Change the config", "", "/w/c.json"},
		"a result":                            {`{"sessionUpdate":"tool_call","toolCallId":"a","title":"x","kind":"other","status":"completed","content":[{"type":"content","content":{"type":"text","text":"{}"}}]}`, "x", "", ""},
	} {
		t.Run(agent, func(t *testing.T) {
			conv := New()
			apply(t, conv, c.update)
			tool := lastTool(t, conv)
			same(t, "title", tool.Title, c.title)
			same(t, "arguments", tool.Arguments(), c.args)
			same(t, "file", tool.File(), c.file)
		})
	}
}

// A question may be the first that is heard of a call, and the last.
func TestToolOfAQuestion(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"known","title":"K","rawInput":{"command":"make"}}`)
	tool := c.ToolFor(protocol.ToolCall{ID: "known", Kind: "execute"})
	same(t, "known", tool, Tool{CallID: "known", Title: "K", Kind: "execute", Command: "make", Status: ToolPending})
	tool = c.ToolFor(protocol.ToolCall{ID: "new", Title: "touch a"})
	same(t, "new", tool, Tool{CallID: "new", Title: "touch a", Status: ToolPending})
	first, second := c.ToolFor(protocol.ToolCall{Title: "x"}), c.ToolFor(protocol.ToolCall{Title: "y"})
	if first.CallID == second.CallID || first.CallID == "" {
		t.Errorf("calls without an id got %q and %q", first.CallID, second.CallID)
	}
	same(t, "items", texts(c), []string{"tool K …", "tool touch a …", "tool x …", "tool y …"})
}

func TestCommands(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"go test ./..."}`:               "go test ./...",
		`{"command":"/bin/bash -lc 'touch a'"}`:     "touch a",
		`{"command":"bash -c 'it'\\''s'"}`:          "it's",
		`{"command":"/bin/zsh -lc steer"}`:          "steer",
		`{"command":"bash -lc a b"}`:                "bash -lc a b",
		`{"command":"bash -lc 'a' 'b'"}`:            "bash -lc 'a' 'b'",
		`{"command":"bash -lc 'a'; rm b"}`:          "bash -lc 'a'; rm b",
		`{"command":"bash -lc $X"}`:                 "bash -lc $X",
		`{"command":"bash -x -c 'a'"}`:              "bash -x -c 'a'",
		`{"command":["bash","-lc","cd a && make"]}`: "cd a && make",
		`{"command":["git","commit","-m","a b"]}`:   "git commit -m 'a b'",
		`{"command":["bash","-c","a","b"]}`:         "bash -c a b",
		`{"command":"rm -r .","COMMAND":"ls"}`:      "rm -r .",
		`{"Command":"ls"}`:                          "",
		`{"command":5}`:                             "",
		`"ls"`:                                      "",
		``:                                          "",
		`{"command":"echo a\nrm b\u001b[1A\u202e"}`: "echo a\nrm b\uFFFD[1A\uFFFD",
	} {
		if got := (merge(Tool{}, protocol.ToolCall{RawInput: json.RawMessage(input)})).Command; got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

func TestOutputs(t *testing.T) {
	text := func(s string) string {
		b, _ := json.Marshal(s)
		return `{"content":[{"type":"content","content":{"type":"text","text":` + string(b) + `}}]}`
	}
	for raw, want := range map[string]string{
		text("```console\nok\n```"):                  "ok",
		text("```\na\n\nb\n```\n"):                   "a\n\nb",
		text("```go\na\n```\ntext\n```\nb\n```"):     "```go\na\n```\ntext\n```\nb\n```",
		text("```"):                                  "```",
		text("``` ```"):                              "``` ```",
		text("\x1b[32mok\x1b[0m\r\nnext"):            "ok\nnext",
		`{"rawOutput":"raw\u0007"}`:                  "raw",
		`{"rawOutput":{"output":"o","metadata":{}}}`: "o",
		`{"rawOutput":{"error":"e"}}`:                "e",
		`{"rawOutput":{"result":{"content":[{"type":"text","text":"pong"}]},"error":null}}`: "pong",
		`{"rawOutput":{"output":5,"other":"x"}}`:                                            "",
		`{"rawOutput":[1]}`:                                                                 "",
		`{"content":[],"rawOutput":"raw"}`:                                                  "raw",
		`{"content":[{"type":"content","content":null}]}`:                                   "",
		`{"content":[{"type":"a\u001b[2J\nb"},{"x":1},7]}`:                                  "[a\uFFFD[2J b]",
	} {
		var u protocol.ToolCall
		if err := protocol.Decode([]byte(raw), &u); err != nil {
			t.Fatal(err)
		}
		if got := merge(Tool{}, u).Output; got != want {
			t.Errorf("%s: %q, want %q", raw, got, want)
		}
	}
}

func TestLimitsOfATool(t *testing.T) {
	block := func(s string) protocol.ToolContent {
		return protocol.ToolContent{Type: protocol.ContentBlock, Block: protocol.TextBlock(s)}
	}
	tool := merge(Tool{}, protocol.ToolCall{Content: protocol.List[protocol.ToolContent]{block(strings.Repeat("0123456\n", 10000) + "end")}})
	if n := len(tool.Output); n > maxOutput || n < maxOutput-8 || !strings.HasPrefix(tool.Output, "0123456\n") || !strings.HasSuffix(tool.Output, "\nend") {
		t.Errorf("%d bytes of output: %.20q", n, tool.Output)
	}
	if lines := tool.Cut + strings.Count(tool.Output, "\n"); lines != 10000 {
		t.Errorf("%d lines cut and %d left are not 10000", tool.Cut, lines-tool.Cut)
	}
	tool = merge(Tool{}, protocol.ToolCall{Content: protocol.List[protocol.ToolContent]{block(strings.Repeat("é", 100000) + "x")}})
	if len(tool.Output) > maxOutput || strings.ContainsRune(tool.Output, '\uFFFD') || tool.Cut != 1 {
		t.Errorf("a long line: %d bytes, %d lines cut", len(tool.Output), tool.Cut)
	}

	var many protocol.List[protocol.ToolContent]
	var places protocol.List[protocol.Location]
	for i := range 3000 {
		many = append(many, protocol.ToolContent{Type: protocol.ContentDiff, Path: fmt.Sprint("/p/", i), OldText: strings.Repeat("x", 200<<10), NewText: "y"})
		places = append(places, protocol.Location{Path: fmt.Sprint("/p/", i)})
	}
	tool = merge(Tool{}, protocol.ToolCall{Content: many[:9], Locations: places, Title: strings.Repeat("t", 10000), RawInput: json.RawMessage(`{"command":"` + strings.Repeat("c", 100000) + `"}`)})
	if size := tool.size(); size > 800<<10 {
		t.Errorf("the tool takes %d bytes", size)
	}
	if d := tool.Diffs; len(d) != 9 || len(d[0].Old) > maxDiff+len(textCut) || d[8].Path != "/p/8" {
		t.Errorf("%d diffs, the last of %q", len(d), d[len(d)-1].Path)
	}
	if l := tool.Locations; len(l) != maxLocations+1 || l[maxLocations] != "[2000 more]" {
		t.Errorf("%d locations, the last is %q", len(l), l[len(l)-1])
	}
	if !strings.HasSuffix(tool.Command, textCut) || len(tool.Title) != maxLine {
		t.Errorf("a command of %d and a title of %d bytes", len(tool.Command), len(tool.Title))
	}
	if d := merge(Tool{}, protocol.ToolCall{Content: many}).Diffs; len(d) != maxLocations+1 || d[maxLocations].Path != "[more]" {
		t.Errorf("%d diffs, the last of %q", len(d), d[len(d)-1].Path)
	}
}

func TestPlan(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"plan","entries":[]}`)
	same(t, "an empty plan", texts(c), []string(nil))
	apply(t, c, `{"sessionUpdate":"plan","entries":[{"content":"a\nb","status":"pending"},{"content":"c","status":"later\u0007"}]}`,
		chunk(protocol.UpdateMessage, "", "x"),
		`{"sessionUpdate":"plan","entries":[{"content":"a b","status":"completed"}]}`,
		chunk(protocol.UpdateMessage, "", "y"))
	same(t, "items", texts(c), []string{"plan  …", "message xy …"})
	same(t, "plan", c.Items()[0].Plan, []PlanEntry{{"a b", "completed"}})
	c.EndTurn()
	apply(t, c, `{"sessionUpdate":"plan","entries":[{"content":"next"}]}`)
	same(t, "the next turn's plan", texts(c), []string{"plan ", "message xy", "plan  …"})
}

func TestUnknownUpdates(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"new\u001b[2J"}`, `{"sessionUpdate":"new\u001b[2J"}`, `{}`, `{"sessionUpdate":"other"}`)
	same(t, "items", texts(c), []string{"notice [new\uFFFD[2J]", "notice [other]"})
}

func TestModesAndModels(t *testing.T) {
	open := func(raw string) *Conversation {
		var s protocol.SessionResult
		if err := protocol.Decode([]byte(raw), &s); err != nil {
			t.Fatal(err)
		}
		c := New()
		c.Open(s)
		return c
	}
	const modes = `"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B\u0007"},{"id":"bad\u001b"}]}`
	old := open(`{` + modes + `,"models":{"currentModelId":"m","availableModels":[{"modelId":"m","description":"d"}]}}`)
	same(t, "modes", old.Modes(), []Choice{{ID: "a", Name: "A"}, {ID: "b", Name: "B\uFFFD"}})
	same(t, "models", old.Models(), []Choice{{ID: "m", Description: "d"}})
	if old.Mode() != "a" || old.Model() != "m" || old.OptionOf("mode") != "" || old.OptionOf("other") != "" {
		t.Errorf("mode %q, model %q, option %q", old.Mode(), old.Model(), old.OptionOf("mode"))
	}
	before := old.StateVersion()
	old.Set("mode", "b", protocol.ConfigResult{})
	if old.Mode() != "b" || old.StateVersion() == before {
		t.Errorf("after set_mode: %q", old.Mode())
	}
	apply(t, old, `{"sessionUpdate":"current_mode_update","modeId":"a"}`)
	if old.Mode() != "a" {
		t.Errorf("after an update: %q", old.Mode())
	}

	const options = `[{"id":"M","category":"mode","type":"select","currentValue":"x","options":[{"value":"x"},{"value":"y"}]},
		{"id":"L","category":"model","type":"select","currentValue":"l","options":[{"value":"l","name":"L"}]},{"id":"f","category":"model_config","type":"boolean","currentValue":true}]`
	c := open(`{` + modes + `,"configOptions":` + options + `}`)
	if c.Mode() != "x" || len(c.Modes()) != 2 || c.OptionOf("mode") != "M" || c.Model() != "l" || c.OptionOf("model") != "L" {
		t.Errorf("options: mode %q of %v by %q, model %q", c.Mode(), c.Modes(), c.OptionOf("mode"), c.Model())
	}
	apply(t, c, `{"sessionUpdate":"config_option_update","configOptions":`+strings.Replace(options, `"currentValue":"x"`, `"currentValue":"y"`, 1)+`}`)
	if c.Mode() != "y" || c.Model() != "l" {
		t.Errorf("after an update: mode %q, model %q", c.Mode(), c.Model())
	}
	c.Open(protocol.SessionResult{})
	c.Set("model", "", protocol.ConfigResult{})
	if c.Mode() != "y" || c.Model() != "l" {
		t.Errorf("an answer without anything changed mode to %q, model to %q", c.Mode(), c.Model())
	}
}

func TestCommandsUsageTitle(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"plan","description":"Turn\non"},{"name":"bad\u001bname"},{"name":"mcp"}]}`,
		`{"sessionUpdate":"usage_update","used":10,"size":100,"cost":{"amount":0.5,"currency":"USD"}}`,
		`{"sessionUpdate":"session_info_update","title":"a\u001b]0;x\u0007\nb"}`)
	same(t, "commands", c.Commands(), []Choice{{ID: "plan", Name: "plan", Description: "Turn on"}, {ID: "mcp", Name: "mcp"}})
	same(t, "usage", c.Usage(), Usage{10, 100, 0.5, "USD"})
	if c.Title() != "a\uFFFD]0;x\uFFFD b" {
		t.Errorf("title %q", c.Title())
	}
	state, version := c.StateVersion(), c.Version()
	apply(t, c, `{"sessionUpdate":"usage_update","used":10,"size":100}`, `{"sessionUpdate":"session_info_update","title":null}`)
	if c.StateVersion() != state || c.Version() != version {
		t.Error("the same again is a change")
	}
	same(t, "the cost stays", c.Usage(), Usage{10, 100, 0.5, "USD"})
	apply(t, c, chunk(protocol.UpdateMessage, "", "x"))
	if c.StateVersion() != state || c.Version() == version {
		t.Error("text is a change of the version only")
	}
}

func TestOldItemsAreDropped(t *testing.T) {
	c := New()
	for i := range 2000 {
		c.AddPrompt(fmt.Sprint("p", i), "hello", "")
	}
	items := c.Items()
	if len(items) != maxItems || c.Dropped() != 1500 || items[0].ID != "p1500" || items[maxItems-1].ID != "p1999" {
		t.Errorf("%d items from %s on, %d dropped", len(items), items[0].ID, c.Dropped())
	}
	c.AddPrompt("big", strings.Repeat("x", 2*maxText), "")
	items = c.Items()
	if last := items[len(items)-1].Text; len(items) != 1 || len(last) != maxText+len(textCut) {
		t.Errorf("%d items, the last of %d bytes", len(items), len(last))
	}
	c.AddNotice("next")
	same(t, "what is left", texts(c), []string{"notice next"})
	if c.Dropped() != 2001 {
		t.Errorf("%d dropped, want 2001", c.Dropped())
	}
}

// An open item holds up dropping, but not for ever; later news of a dropped call make
// a new item.
func TestOpenItemsAreDroppedLast(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"T"}`, `{"sessionUpdate":"plan","entries":[{"content":"a"}]}`)
	for range maxItems {
		c.AddNotice("x")
	}
	if c.Dropped() != 0 || c.Items()[0].Tool == nil {
		t.Errorf("%d dropped, the first item is %+v", c.Dropped(), c.Items()[0])
	}
	for range maxItems {
		c.AddNotice("x")
	}
	if c.Dropped() < 2 || len(c.Items()) > 2*maxItems || c.Running() != 0 {
		t.Errorf("%d dropped, %d left, %d running", c.Dropped(), len(c.Items()), c.Running())
	}
	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","title":"U"}`, `{"sessionUpdate":"plan","entries":[{"content":"b"}]}`)
	if it := c.Items()[len(c.Items())-2]; it.Tool == nil || it.Tool.Title != "U" {
		t.Errorf("the call is %+v", it)
	}
	same(t, "the plan", c.Items()[len(c.Items())-1].Plan, []PlanEntry{{Text: "b"}})
}

func TestEndlessMessage(t *testing.T) {
	c := New()
	text := strings.Repeat("é", 50000)
	for range 100 {
		apply(t, c, chunk(protocol.UpdateMessage, "", text))
	}
	items := c.Items()
	if got := items[0].Text; len(items) != 1 || len(got) > maxText+len(textCut) || !strings.HasSuffix(got, "é"+textCut) {
		t.Errorf("%d items, the first of %d bytes", len(items), len(got))
	}
}

// Many chunks take time and memory in proportion.
func TestManyChunks(t *testing.T) {
	allocated := func(n int) uint64 {
		c := New()
		u := protocol.Update{Kind: protocol.UpdateMessage, Content: protocol.TextBlock("some words of a chunk ")}
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		for i := range n {
			c.Apply(u)
			if i%500 == 0 {
				c.Items()
			}
		}
		goruntime.ReadMemStats(&after)
		if got := len(c.Items()[0].Text); got != n*22 {
			t.Fatalf("%d bytes, want %d", got, n*22)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	allocated(100)
	few, many := allocated(20000), allocated(40000)
	t.Logf("%d and %d kB", few>>10, many>>10)
	if many > 4*few {
		t.Errorf("20,000 chunks allocate %d bytes, 40,000 %d", few, many)
	}
	if few > 10<<20 {
		t.Errorf("20,000 chunks allocate %d bytes", few)
	}
}

// A version grows with every change, and items say when they changed.
func TestVersions(t *testing.T) {
	c := New()
	for _, raw := range []string{
		chunk(protocol.UpdateMessage, "", "a"), chunk(protocol.UpdateMessage, "", "b"),
		`{"sessionUpdate":"tool_call","toolCallId":"t"}`, `{"sessionUpdate":"tool_call_update","toolCallId":"t","title":"x"}`,
		`{"sessionUpdate":"plan","entries":[{"content":"a"}]}`,
	} {
		before := c.Version()
		apply(t, c, raw)
		newest := uint64(0)
		for _, it := range c.Items() {
			newest = max(newest, it.Version)
		}
		if c.Version() <= before || newest <= before || newest > c.Version() {
			t.Errorf("%s: version %d after %d, the newest item %d", raw, c.Version(), before, newest)
		}
	}
	ids := map[string]bool{}
	for _, it := range c.Items() {
		ids[it.ID] = true
	}
	if len(ids) != len(c.Items()) {
		t.Errorf("ids %v of %d items", ids, len(c.Items()))
	}
}
