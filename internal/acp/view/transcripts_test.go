package view_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/view"
	"gascity.dev/gc/vt"
)

// replay processes a transcript as a host does, and paints after
// each of them.
type replay struct {
	*testing.T
	p         *person
	c         *conversation.Conversation
	prompts   map[string]bool   // our open prompts, by id
	methods   map[string]string // of our other requests
	modes     map[string]string // of session/set_mode
	questions []conversation.Question
	asked     string // every question as it stood on the screen
}

type rpc struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Error  *struct {
		Code    int64
		Message string
		Data    json.RawMessage
	}
}

func (r *replay) sent(m rpc) {
	id := string(m.ID)
	r.methods[id] = m.Method
	switch m.Method {
	case protocol.MethodPrompt, protocol.MethodSteering:
		var p protocol.PromptRequest
		_ = json.Unmarshal(m.Params, &p)
		r.prompts[id] = true
		r.c.AddPrompt("prompt-"+id, p.Prompt[0].Text, "")
	case protocol.MethodSetMode:
		var p protocol.SetModeRequest
		_ = json.Unmarshal(m.Params, &p)
		r.modes[id] = p.ModeID
	case "": // an answer
		r.questions = nil
	}
}

func (r *replay) received(m rpc) {
	id := string(m.ID)
	switch m.Method {
	case protocol.MethodUpdate:
		var n protocol.SessionNotification
		r.decode(m.Params, &n)
		r.c.Apply(n.Update)
		return
	case protocol.MethodPermission:
		var p protocol.PermissionRequest
		r.decode(m.Params, &p)
		tool := r.c.ToolFor(p.ToolCall)
		q := conversation.Question{ID: id, Kind: "permission", Title: tool.Title, Tool: &tool}
		for _, o := range p.Options {
			q.Options = append(q.Options, conversation.Option{ID: o.OptionID, Label: o.Name, Kind: o.Kind})
		}
		r.questions = append(r.questions, q)
		return
	case "":
		r.answered(id, m)
	}
}

func (r *replay) answered(id string, m rpc) {
	if mode := r.modes[id]; mode != "" && m.Error == nil {
		r.c.Set(protocol.CategoryMode, mode, protocol.ConfigResult{})
	}
	switch r.methods[id] {
	case protocol.MethodNew, protocol.MethodLoad, protocol.MethodResume:
		var s protocol.SessionResult
		r.decode(m.Result, &s)
		r.c.Open(s)
	}
	if m.Error != nil {
		r.c.AddNotice(protocol.ErrorText(m.Error.Code, m.Error.Message, m.Error.Data))
	}
	if delete(r.prompts, id); len(r.prompts) == 0 {
		r.c.EndTurn()
	}
}

func (r *replay) decode(b []byte, to any) {
	r.Helper()
	if err := protocol.Decode(b, to); err != nil {
		r.Fatal(err)
	}
}

func (r *replay) frame() view.Frame {
	f := view.Frame{
		Items: r.c.Items(), First: r.c.Dropped(), State: "idle",
		Mode: r.c.Mode(), Model: r.c.Model(), Usage: r.c.Usage(), Commands: r.c.Commands(),
	}
	if len(r.prompts) > 0 {
		f.State = "working"
	}
	if len(r.questions) > 0 {
		f.State, f.Question = "blocked", &r.questions[0]
	}
	return f
}

func (r *replay) paint() {
	before := len(r.questions)
	r.p.paint(r.frame())
	if before > 0 {
		if s := r.p.term.ScreenText(); !strings.HasSuffix(r.asked, s+"\n") {
			r.asked += "=== asked\n" + s + "\n"
		}
	}
}

// TestTranscripts: the messages of real agents are shown as a person expects.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("../testdata/transcripts/*.jsonl")
	if err != nil || len(files) < 10 {
		t.Fatalf("transcripts: %q, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			r := &replay{T: t, p: newPerson(t, 80, 24), c: conversation.New(), prompts: map[string]bool{}, methods: map[string]string{}, modes: map[string]string{}}
			for l := range bytes.Lines(b) {
				var e struct {
					Dir string
					Msg rpc
				}
				if err := json.Unmarshal(l, &e); err != nil {
					t.Fatal(err)
				}
				switch {
				case e.Dir == "c2a" && e.Msg.ID != nil:
					r.sent(e.Msg)
				case e.Dir == "a2c":
					r.received(e.Msg)
				}
				r.paint()
			}
			screen := r.p.sees()
			golden(t, name, r.asked+"=== at the end\n"+screen)
			r.p.term.Write(r.p.view.Close(r.frame()))
			kept := strings.TrimRight(r.p.term.Text(vt.TextOptions{}), "\n")
			if over := len(r.prompts) == 0; over && !strings.HasPrefix(screen, kept) || strings.Contains(kept, "idle · ") {
				t.Errorf("what remains is not the conversation alone:\n%s", kept)
			}
		})
	}
}
