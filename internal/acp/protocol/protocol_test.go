package protocol

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func decode[T any](t *testing.T, raw string) T {
	t.Helper()
	var v T
	if err := Decode([]byte(raw), &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return v
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestInitializeResult(t *testing.T) {
	claude := decode[InitializeResult](t, `{"protocolVersion":1,"agentInfo":{"name":"claude-agent-acp","title":"Claude Agent","version":"0.101.0"},
		"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true,"embeddedContext":true},"mcpCapabilities":{"http":true,"sse":true},
		"sessionCapabilities":{"close":{},"resume":{}}},"authMethods":[],"_meta":{"steering":{"supported":true}}}`)
	equal(t, "everything", claude, InitializeResult{
		ProtocolVersion: "1", Info: Implementation{"claude-agent-acp", "Claude Agent", "0.101.0"}, AuthMethods: List[AuthMethod]{},
		Load: true, Resume: true, Close: true, Image: true, Embedded: true, HTTP: true, SSE: true, Steering: true,
	})
	if got := claude.Name(); got != "Claude Agent 0.101.0" {
		t.Errorf("Name: %q", got)
	}
	for _, raw := range []string{
		`{"protocolVersion":1}`,
		`{"protocolVersion":1,"agentCapabilities":null,"authMethods":null,"agentInfo":null,"_meta":null}`,
		`{"protocolVersion":1,"agentCapabilities":{"loadSession":false,"sessionCapabilities":{"resume":null,"close":false},"mcpCapabilities":{"http":"yes"},"promptCapabilities":[]},"_meta":{"steering":true}}`,
	} {
		equal(t, raw, decode[InitializeResult](t, raw), InitializeResult{ProtocolVersion: "1"})
	}
}

func TestProtocolVersion(t *testing.T) {
	for raw, want := range map[string]struct {
		number int
		text   string
	}{
		`{"protocolVersion":1}`:            {1, "1"},
		`{"protocolVersion":0}`:            {0, "0"},
		`{"protocolVersion":2}`:            {2, "2"},
		`{"protocolVersion":"1"}`:          {-1, `"1"`},
		`{"protocolVersion":"2025-06-18"}`: {-1, `"2025-06-18"`},
		`{"protocolVersion":1.5}`:          {-1, "1.5"},
		`{"protocolVersion":null}`:         {-1, "null"},
		`{"protocolVersion":{"a": 1}}`:     {-1, `{"a": 1}`},
		`{}`:                               {-1, "(none)"},
	} {
		v := decode[InitializeResult](t, raw).ProtocolVersion
		if v.Number() != want.number || v.String() != want.text {
			t.Errorf("%s: %d, %q, want %d, %q", raw, v.Number(), v, want.number, want.text)
		}
	}
}

func TestAuthMethods(t *testing.T) {
	r := decode[InitializeResult](t, `{"authMethods":[
		{"id":"oauth","name":"Log in","description":"x"},
		{"id":"same","name":"same"},
		{"type":"env_var","id":"key","name":"API key","vars":[{"name":"A_KEY"},{"label":"no name"},7,{"name":"A_URL","optional":true}]},
		{"id":"meta","_meta":{"vars":[{"name":"M_KEY"}]}},
		{"id":"other meta","_meta":{"api-key":{"provider":"google"}}},
		{"name":"no id"}, "text", null,
		{"id":"bad\u001b[2Jid\n","name":5}
	]}`)
	equal(t, "methods", r.Methods(), []string{
		"oauth (Log in)", "same", "key (API key, A_KEY, A_URL)", "meta (M_KEY)", "other meta", "bad[2Jid",
	})
}

func TestSessionResult(t *testing.T) {
	r := decode[SessionResult](t, `{"sessionId":"s","extra":{},
		"modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},5,{"name":"no id"},{"id":"b","description":["x"]}]},
		"models":{"currentModelId":"m","availableModels":[{"modelId":"m","name":"M","description":"d"}]},
		"configOptions":[
			{"id":"mode","name":"Mode","category":"mode","type":"select","currentValue":"a","options":[{"value":"a","name":"A","description":null},"x"]},
			{"id":"model","category":"model","type":"select","currentValue":"m1","options":[
				{"group":"g","name":"G","options":[{"value":"m1","name":"M1"},{"value":"m2"}]},{"value":"m3","name":"M3"}]},
			{"id":"fast","type":"boolean","currentValue":false},
			{"id":"odd","type":"slider","currentValue":{"x":1},"options":"none"},
			{"name":"no id"}
		]}`)
	equal(t, "session", r, SessionResult{
		SessionID: "s",
		Modes:     &ModeState{"a", List[Mode]{{"a", "A", ""}, {ID: "b"}}},
		Models:    &ModelState{"m", List[Model]{{"m", "M", "d"}}},
		ConfigOptions: List[ConfigOption]{
			{ID: "mode", Name: "Mode", Category: "mode", Type: "select", Value: "a", Choices: List[ConfigChoice]{{"a", "A", ""}}},
			{ID: "model", Category: "model", Type: "select", Value: "m1", Choices: List[ConfigChoice]{{"m1", "M1", ""}, {Value: "m2"}, {"m3", "M3", ""}}},
			{ID: "fast", Type: "boolean", Value: "false"},
			{ID: "odd", Type: "slider"},
		},
	})
	for _, raw := range []string{"null", "{}", `{"modes":null,"models":null,"configOptions":null,"sessionId":7}`, ""} {
		equal(t, raw, decode[SessionResult](t, raw), SessionResult{})
	}
}

func TestUpdates(t *testing.T) {
	for raw, want := range map[string]Update{
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a","annotations":{}},"messageId":"m"}`: {Kind: UpdateMessage, MessageID: "m", Content: TextBlock("a")},
		`{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":"a"},"messageId":5}`:                    {Kind: UpdateThought, Content: TextBlock("a")},
		`{"sessionUpdate":"user_message_chunk","content":"plain"}`:                                                      {Kind: UpdateUser, Content: TextBlock("plain")},
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"hologram","data":"?"}}`:                              {Kind: UpdateMessage, Content: Block{Type: "hologram", Data: "?"}},
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"image","data":"AAAA","mimeType":7}}`:                 {Kind: UpdateMessage, Content: Block{Type: "image", Data: "AAAA"}},
		`{"sessionUpdate":"agent_message_chunk","content":null}`:                                                        {Kind: UpdateMessage},
		`{"sessionUpdate":"agent_message_chunk","content":[1]}`:                                                         {Kind: UpdateMessage},
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"resource","resource":{"uri":"u","text":"t"}}}`:       {Kind: UpdateMessage, Content: Block{Type: "resource", Resource: &Resource{URI: "u", Text: "t"}}},
		`{"sessionUpdate":"plan","entries":[{"content":"a","status":"completed","priority":"high"},{"content":""},3]}`:  {Kind: UpdatePlan, Plan: List[PlanEntry]{{"a", "high", "completed"}}},
		`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"plan","description":"d","input":null},{"name":"mcp","input":{"hint":"h"}},{}]}`: {
			Kind: UpdateCommands, Commands: List[Command]{{Name: "plan", Description: "d"}, {Name: "mcp", Input: struct{ Hint string }{"h"}}},
		},
		`{"sessionUpdate":"current_mode_update","modeId":"a"}`:                                           {Kind: UpdateMode, ModeID: "a"},
		`{"sessionUpdate":"current_mode_update","currentModeId":"b"}`:                                    {Kind: UpdateMode, ModeID: "b"},
		`{"sessionUpdate":"config_option_update","configOptions":[{"id":"x","currentValue":true}]}`:      {Kind: UpdateOptions, Options: List[ConfigOption]{{ID: "x", Value: "true"}}},
		`{"sessionUpdate":"usage_update","used":15.0,"size":1e6,"cost":{"amount":0.5,"currency":"USD"}}`: {Kind: UpdateUsage, Usage: ContextUsage{15, 1000000, 0.5, "USD"}},
		`{"sessionUpdate":"usage_update","used":-1,"size":"many","cost":null}`:                           {Kind: UpdateUsage},
		`{"sessionUpdate":"session_info_update","title":"t","updatedAt":"x"}`:                            {Kind: UpdateInfo, Title: "t"},
		`{"sessionUpdate":"session_info_update","title":null}`:                                           {Kind: UpdateInfo},
		`{"sessionUpdate":"something_new","content":5,"foo":1}`:                                          {Kind: "something_new"},
		`{"sessionUpdate":5}`: {},
		`{}`:                  {},
	} {
		equal(t, raw, decode[Update](t, raw), want)
	}
	n := decode[SessionNotification](t, `{"sessionId":"s","update":"nothing"}`)
	equal(t, "no update", n, SessionNotification{SessionID: "s"})
}

// A tool call keeps what it can: this is where a strict reader loses most.
func TestToolCalls(t *testing.T) {
	u := decode[Update](t, `{"sessionUpdate":"tool_call_update","toolCallId":"t","title":5,"kind":"teleport","status":"queued","name":"Bash",
		"content":[{"type":"widget","x":1},7,{"no":"type"},{"type":"content","content":{"type":"text","text":"seen"}},
			{"type":"diff","path":"/a","oldText":null,"newText":"n"},{"type":"terminal","terminalId":"T"},{"type":"content","content":[]}],
		"locations":[{"path":"/p","line":3},{"line":1},"x"],"rawInput":{"command":"ls"},"rawOutput":"text"}`)
	equal(t, "tool", u, Update{Kind: UpdateTool, Tool: ToolCall{
		ID: "t", Name: "Bash", Kind: "teleport", Status: "queued",
		Content: List[ToolContent]{
			{Type: "widget"}, {Type: "content", Block: TextBlock("seen")}, {Type: "diff", Path: "/a", NewText: "n"},
			{Type: "terminal", TerminalID: "T"}, {Type: "content"},
		},
		Locations: List[Location]{{"/p"}},
		RawInput:  json.RawMessage(`{"command":"ls"}`), RawOutput: json.RawMessage(`"text"`),
	}})
	// Absent, null and unreadable content leave a call as it is; an empty list does not.
	for raw, set := range map[string]bool{`{}`: false, `{"content":null}`: false, `{"content":"x"}`: false, `{"content":[]}`: true, `{"content":[5]}`: true} {
		if got := decode[ToolCall](t, raw).Content != nil; got != set {
			t.Errorf("%s: content is set: %t, want %t", raw, got, set)
		}
	}
}

func TestPromptResults(t *testing.T) {
	for raw, want := range map[string]PromptResult{
		`{"stopReason":"end_turn","usage":{"inputTokens":10,"outputTokens":5,"totalTokens":15,"cachedReadTokens":0}}`:                 {"end_turn", Usage{10, 5, 15}},
		`{"stopReason":"end_turn","_meta":{"quota":{"token_count":{"input_tokens":20,"output_tokens":10},"model_usage":[]}}}`:         {"end_turn", Usage{20, 10, 0}},
		`{"stopReason":"end_turn","usage":null,"_meta":{"quota":{"token_count":{"inputTokens":1,"outputTokens":2,"totalTokens":3}}}}`: {"end_turn", Usage{1, 2, 3}},
		`{"stopReason":"cancelled","usage":null,"_meta":{"quota":{"token_count":null}}}`:                                              {"cancelled", Usage{}},
		`{"stopReason":"pause","usage":"?"}`: {"pause", Usage{}},
		`{"stopReason":7}`:                   {},
		`null`:                               {},
	} {
		equal(t, raw, decode[PromptResult](t, raw), want)
	}
}

func TestPermissionRequest(t *testing.T) {
	r := decode[PermissionRequest](t, `{"sessionId":"s","toolCall":{"toolCallId":"t9","_meta":null},
		"options":[{"optionId":"a","name":"A","kind":"allow_once"},{"name":"no id"},false,{"optionId":"b","kind":"sometimes"}]}`)
	equal(t, "request", r, PermissionRequest{"s", ToolCall{ID: "t9", Meta: json.RawMessage("null")}, List[PermissionOption]{{"a", "A", "allow_once"}, {OptionID: "b", Kind: "sometimes"}}})
}

func TestElicitation(t *testing.T) {
	for raw, want := range map[string]struct {
		name    string
		choices []string
		ok      bool
	}{
		`{"properties":{"x":{"type":"string","enum":["a","b"],"enumNames":["A"]}},"required":["x"]}`: {"x", []string{"a", "b"}, true},
		`{"properties":{"x":{"type":"string","oneOf":[{"const":"a","title":"A"},3,{"const":"b"}]}}}`: {"x", []string{"a", "b"}, true},
		`{"properties":{"x":{"type":"boolean"}}}`:                                                    {"x", []string{"true", "false"}, true},
		`{"properties":{"x":{"type":"string"}}}`:                                                     {"x", nil, true},
		`{"properties":{"x":{"type":"date","enum":"none"}}}`:                                         {"x", nil, true},
		`{"properties":{"x":{"type":"string"},"y":{}}}`:                                              {"", nil, false},
		`{"properties":{"x":{"type":"string"},"y":{}},"required":["x","y"]}`:                         {"", nil, false},
		`{"properties":{"x":{"type":"string"},"y":{}},"required":["y"]}`:                             {"y", nil, true},
		`{"properties":{"x":{"type":"array","items":{"enum":["a"]}}}}`:                               {"", nil, false},
		`{"properties":{"x":5}}`:                                                                     {"", nil, false},
		`{"properties":[]}`:                                                                          {"", nil, false},
		`null`:                                                                                       {"", nil, false},
	} {
		r := decode[ElicitationRequest](t, `{"mode":"form","message":"m","sessionId":"s","requestedSchema":`+raw+`}`)
		f, ok := r.Field()
		var choices []string
		for _, c := range f.Choices {
			choices = append(choices, c.Value)
		}
		equal(t, raw, []any{r.Mode, r.Message, f.Name, choices, ok}, []any{ModeForm, "m", want.name, want.choices, want.ok})
	}
	r := decode[ElicitationRequest](t, `{"requestedSchema":{"properties":{"z":{"type":"string"},"a":{"title":"A"},"m":{}}}}`)
	equal(t, "order", r.Schema.Properties, Fields{{Name: "z", Type: "string"}, {Name: "a", Title: "A"}, {Name: "m"}})
}

func TestFieldValue(t *testing.T) {
	for _, c := range []struct{ kind, text, want string }{
		{"string", "1", `"1"`}, {"", "a", `"a"`}, {"date", "b", `"b"`},
		{"boolean", "true", "true"}, {"boolean", "maybe", ""},
		{"integer", "12", "12"}, {"integer", "1.5", ""},
		{"number", "1.5", "1.5"}, {"number", "x", ""}, {"number", "NaN", ""},
	} {
		v, err := Field{Type: c.kind}.Value(c.text)
		got := ""
		if err == nil {
			b, err := json.Marshal(v)
			if err != nil {
				t.Fatalf("%s %s: %v", c.kind, c.text, err)
			}
			got = string(b)
		}
		if got != c.want {
			t.Errorf("%s %q: %s, want %s", c.kind, c.text, got, c.want)
		}
	}
}

func TestErrorText(t *testing.T) {
	for _, c := range []struct {
		message, data, want string
	}{
		{"Internal error", `{"details":"No previous sessions found for this project."}`, "Internal error: No previous sessions found for this project."},
		{"Internal error: stub refuses", `{"service":"session","errorName":"APIError"}`, "Internal error: stub refuses"},
		{`{"type":"error","error":{"type":"invalid_request_error","message":"stub refuses"}}`, "", "stub refuses"},
		{`"Method not found": session/resume`, `{"method":"session/resume"}`, `"Method not found": session/resume`},
		{"Internal error", `"a text"`, "Internal error: a text"},
		{"no key", `{"details":"no key"}`, "no key"},
		{"", `{"message":"only data"}`, "only data"},
		{"two\nlines\x1b[31m", `null`, "two lines[31m"},
		{`{"foo":1}`, "", `{"foo":1}`},
		{"", "", "error 7"},
		{"cut", `[1,`, "cut: [1,"},
		{strings.Repeat("é", 400), "", strings.Repeat("é", 248) + "…"},
	} {
		if got := ErrorText(7, c.message, json.RawMessage(c.data)); got != c.want {
			t.Errorf("%q, %s: %q, want %q", c.message, c.data, got, c.want)
		}
	}
}

// Our messages are well formed: the SDK, which is strict, accepts them.
func TestRequests(t *testing.T) {
	servers := []MCPServer{
		{Name: "a", Command: "/bin/a", Env: map[string]string{"Y": "2", "X": "1"}},
		{Name: "b", Type: "stdio", Command: "b", Args: []string{"-v"}},
		{Name: "c", Type: "http", URL: "https://c", Headers: map[string]string{"K": "v"}},
		{Name: "d", Type: "sse", URL: "https://d"},
	}
	for _, c := range []struct {
		v    any
		want string
		sdk  any
	}{
		{Initialize("0.1", false, false), `{"protocolVersion":1,"clientInfo":{"name":"gc","title":"gc","version":"0.1"},"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"elicitation":{"form":{}},"session":{"configOptions":{"boolean":{}}}}}`, &acp.InitializeRequest{}},
		{Initialize("0.1", true, true).ClientCapabilities, `{"fs":{"readTextFile":true,"writeTextFile":true},"terminal":true,"elicitation":{"form":{}},"session":{"configOptions":{"boolean":{}}}}`, &acp.ClientCapabilities{}},
		{AuthenticateRequest{"m"}, `{"methodId":"m"}`, &acp.AuthenticateRequest{}},
		{NewSessionRequest{Cwd: "/p"}, `{"cwd":"/p","mcpServers":[]}`, &acp.NewSessionRequest{}},
		{NewSessionRequest{"/p", servers}, `{"cwd":"/p","mcpServers":[` +
			`{"name":"a","command":"/bin/a","args":[],"env":[{"name":"X","value":"1"},{"name":"Y","value":"2"}]},` +
			`{"name":"b","command":"b","args":["-v"],"env":[]},` +
			`{"type":"http","name":"c","url":"https://c","headers":[{"name":"K","value":"v"}]},` +
			`{"type":"sse","name":"d","url":"https://d","headers":[]}]}`, &acp.NewSessionRequest{}},
		{SessionRequest{"s", "/p", []MCPServer{}}, `{"sessionId":"s","cwd":"/p","mcpServers":[]}`, &acp.LoadSessionRequest{}},
		{SessionRequest{SessionID: "s"}, `{"sessionId":"s"}`, &acp.CloseSessionRequest{}},
		{SetModeRequest{"s", "m"}, `{"sessionId":"s","modeId":"m"}`, &acp.SetSessionModeRequest{}},
		{SetConfigOptionRequest{"s", "c", "v"}, `{"sessionId":"s","configId":"c","value":"v"}`, &acp.SetSessionConfigOptionRequest{}},
		{PromptRequest{"s", []Block{TextBlock("a"), FileBlock("/no/such file", true)}}, `{"sessionId":"s","prompt":[{"type":"text","text":"a"},{"type":"resource_link","name":"such file","uri":"file:///no/such%20file"}]}`, &acp.PromptRequest{}},
		{CancelNotification{"s"}, `{"sessionId":"s"}`, &acp.CancelNotification{}},
		{Selected("a"), `{"outcome":{"outcome":"selected","optionId":"a"}}`, &acp.RequestPermissionResponse{}},
		{Cancelled(), `{"outcome":{"outcome":"cancelled"}}`, &acp.RequestPermissionResponse{}},
		{ElicitationResult{Action: ActionDecline}, `{"action":"decline"}`, nil},
		{ElicitationResult{ActionAccept, map[string]any{"x": true}}, `{"action":"accept","content":{"x":true}}`, nil},
		{ReadFileResult{"x"}, `{"content":"x"}`, &acp.ReadTextFileResponse{}},
		{TerminalResult{"t"}, `{"terminalId":"t"}`, &acp.CreateTerminalResponse{}},
		{TerminalOutput{Output: "x"}, `{"output":"x","truncated":false}`, &acp.TerminalOutputResponse{}},
		{ExitStatus{Code: new(int)}, `{"exitCode":0}`, &acp.WaitForTerminalExitResponse{}},
	} {
		got, err := json.Marshal(c.v)
		if err != nil || string(got) != c.want {
			t.Errorf("%T: %s, %v, want %s", c.v, got, err, c.want)
		}
		if c.sdk == nil {
			continue
		}
		if err := json.Unmarshal(got, c.sdk); err != nil {
			t.Errorf("%s: the SDK says %v", got, err)
		}
		if v, ok := c.sdk.(interface{ Validate() error }); ok {
			if err := v.Validate(); err != nil {
				t.Errorf("%s: the SDK says %v", got, err)
			}
		}
	}
}

func TestFileBlock(t *testing.T) {
	dir := t.TempDir()
	image := filepath.Join(dir, "a b.PNG")
	if err := os.WriteFile(image, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big.png")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, maxImage+1); err != nil {
		t.Fatal(err)
	}
	b := FileBlock(image, true)
	if b.Type != BlockImage || b.MimeType != "image/png" || b.Data != "MTIzNDU=" || b.Size() != 5 {
		t.Errorf("an image: %+v, size %d", b, b.Size())
	}
	for path, images := range map[string]bool{image: false, big: true, dir: true, filepath.Join(dir, "none.png"): true, filepath.Join(dir, "a.txt"): true} {
		if b := FileBlock(path, images); b.Type != BlockLink || b.Name != filepath.Base(path) || b.Data != "" {
			t.Errorf("%s: %+v", path, b)
		}
	}
}

// What is carried out is not guessed.
func TestDecodeExact(t *testing.T) {
	for raw, ok := range map[string]bool{
		`{"path":"/a","content":"x","more":1}`: true,
		`{"path":"/a","content":5}`:            false,
		`{"path":["/a"],"content":"x"}`:        false,
		`[]`:                                   false,
		`"x"`:                                  false,
	} {
		var r WriteFileRequest
		if err := DecodeExact([]byte(raw), &r); (err == nil) != ok {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{`[]`, `"x"`, `5`, `true`, `{`, `{"a":}`} {
		if err := Decode([]byte(raw), &SessionNotification{}); err == nil {
			t.Errorf("%s: no error", raw)
		}
	}
}

// inbound are the types that agents send.
func inbound() []any {
	return []any{
		&InitializeResult{}, &SessionResult{}, &ConfigResult{}, &PromptResult{}, &SteeringResult{}, &SessionNotification{}, &Update{},
		&PermissionRequest{}, &ElicitationRequest{}, &CancelRequest{}, &ToolCall{}, &Block{},
		&ReadFileRequest{}, &WriteFileRequest{}, &TerminalRequest{}, &TerminalRef{},
	}
}

// members are the names that the types know, and one that they do not.
var members = strings.Fields(`protocolVersion agentInfo agentCapabilities authMethods _meta loadSession sessionCapabilities
	promptCapabilities mcpCapabilities steering supported id name title description type vars sessionId modes models configOptions
	currentModeId availableModes currentModelId availableModels category currentValue options value stopReason usage quota
	token_count inputTokens update sessionUpdate messageId content entries availableCommands modeId used size cost amount
	toolCallId kind status locations path rawInput toolCall optionId mode message requestedSchema properties enum oneOf
	requestId text data resource uri line limit command args env outputByteLimit terminalId outcome unknown`)

func anyJSON() *rapid.Generator[any] {
	kinds := []any{UpdateMessage, UpdateToolCall, UpdateTool, UpdatePlan, UpdateCommands, UpdateMode, UpdateOptions, UpdateUsage, UpdateInfo, "select", "boolean", "text", "x"}
	scalar := rapid.OneOf(rapid.SampledFrom(kinds), rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }), rapid.Map(rapid.Float64Range(-1e20, 1e20), func(f float64) any { return f }))
	value := scalar
	for range 3 {
		inner := value
		object := rapid.Map(rapid.MapOfN(rapid.SampledFrom(members), inner, 0, 6), func(m map[string]any) any { return m })
		list := rapid.Map(rapid.SliceOfN(inner, 0, 4), func(l []any) any { return l })
		value = rapid.OneOf(scalar, object, list)
	}
	return rapid.Map(rapid.MapOfN(rapid.SampledFrom(members), value, 0, 8), func(m map[string]any) any { return m })
}

// No object is refused, whatever the types of its members.
func TestDecodeNeverFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw, err := json.Marshal(anyJSON().Draw(t, "object"))
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range inbound() {
			if err := Decode(raw, v); err != nil {
				t.Errorf("%s as %v: %v", raw, reflect.TypeOf(v), err)
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"sessionId":"s","update":{"sessionUpdate":"tool_call","content":[{"type":"content"}]}}`))
	f.Add([]byte(`{"requestedSchema":{"properties":{"a":{"enum":["x"]}}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, v := range inbound() {
			err := Decode(raw, v)
			if json.Valid(raw) && strings.HasPrefix(strings.TrimSpace(string(raw)), "{") && err != nil {
				t.Errorf("%q as %T: %v", raw, v, err)
			}
		}
		ErrorText(0, string(raw), raw)
	})
}
