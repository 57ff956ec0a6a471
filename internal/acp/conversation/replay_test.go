package conversation

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/acp/protocol"
)

var update = flag.Bool("update", false, "write the golden files")

// replay processes a transcript as a host processes the messages.
type replay struct {
	c       *Conversation
	methods map[string]protocol.PromptRequest // our open prompts, by id
	other   map[string]string                 // methods of our other requests
	modes   map[string]string                 // of session/set_mode
	log     strings.Builder
}

type message struct {
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

func (r *replay) sent(m message) {
	id := string(m.ID)
	switch m.Method {
	case protocol.MethodPrompt, protocol.MethodSteering:
		var p protocol.PromptRequest
		_ = json.Unmarshal(m.Params, &p)
		r.methods[id] = p
		r.c.AddPrompt("prompt-"+id, p.Prompt[0].Text, "")
	case protocol.MethodSetMode:
		var p protocol.SetModeRequest
		_ = json.Unmarshal(m.Params, &p)
		r.modes[id] = p.ModeID
	default:
		r.other[id] = m.Method
	}
}

func (r *replay) received(t *testing.T, m message) {
	id := string(m.ID)
	switch m.Method {
	case protocol.MethodUpdate:
		var n protocol.SessionNotification
		if err := protocol.Decode(m.Params, &n); err != nil {
			t.Fatal(err)
		}
		r.c.Apply(n.Update)
		return
	case protocol.MethodPermission:
		var p protocol.PermissionRequest
		if err := protocol.Decode(m.Params, &p); err != nil {
			t.Fatal(err)
		}
		tool := r.c.ToolFor(p.ToolCall)
		fmt.Fprintf(&r.log, "asked: %s %q command %q at %q\n", tool.Kind, tool.Title, tool.Command, tool.Locations)
		return
	case "":
	default:
		return
	}
	if mode := r.modes[id]; mode != "" && m.Error == nil {
		r.c.Set(protocol.CategoryMode, mode, protocol.ConfigResult{})
	}
	if r.other[id] == protocol.MethodNew || r.other[id] == protocol.MethodLoad || r.other[id] == protocol.MethodResume {
		var s protocol.SessionResult
		if err := protocol.Decode(m.Result, &s); err != nil {
			t.Fatal(err)
		}
		r.c.Open(s)
	}
	if m.Error != nil {
		r.c.AddNotice(protocol.ErrorText(m.Error.Code, m.Error.Message, m.Error.Data))
	}
	if _, ok := r.methods[id]; ok {
		delete(r.methods, id)
		if len(r.methods) == 0 {
			r.c.EndTurn()
		}
	}
}

// dump is the conversation as text.
func dump(c *Conversation) string {
	var b strings.Builder
	for _, it := range c.Items() {
		fmt.Fprintf(&b, "%s %s", it.ID, it.Kind)
		if !it.Done {
			b.WriteString(" (open)")
		}
		switch {
		case it.Tool != nil:
			dumpTool(&b, it.Tool)
		case it.Kind == Plan:
			for _, s := range it.Plan {
				fmt.Fprintf(&b, "\n  [%s] %s", s.Status, s.Text)
			}
		default:
			fmt.Fprintf(&b, " %q", it.Text)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "mode %q of %d by %q, model %q of %d by %q, %d commands, title %q\n",
		c.Mode(), len(c.Modes()), c.OptionOf("mode"), c.Model(), len(c.Models()), c.OptionOf("model"), len(c.Commands()), c.Title())
	fmt.Fprintf(&b, "usage %+v, %d running, %d dropped\n", c.Usage(), c.Running(), c.Dropped())
	return b.String()
}

func dumpTool(b *strings.Builder, t *Tool) {
	fmt.Fprintf(b, " %s %s %q %s", t.CallID, t.Kind, t.Title, t.Status)
	if t.Command != "" {
		fmt.Fprintf(b, "\n  command %q", t.Command)
	}
	if t.Output != "" {
		fmt.Fprintf(b, "\n  output %q", t.Output)
	}
	for _, d := range t.Diffs {
		fmt.Fprintf(b, "\n  diff %s %q %q", d.Path, d.Old, d.New)
	}
	if len(t.Locations) > 0 {
		fmt.Fprintf(b, "\n  at %s", strings.Join(t.Locations, " "))
	}
}

// The messages of real agents become the conversation that a person expects.
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
			r := &replay{c: New(), methods: map[string]protocol.PromptRequest{}, other: map[string]string{}, modes: map[string]string{}}
			for line := range bytes.Lines(b) {
				var e struct {
					Dir string
					Msg message
				}
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatal(err)
				}
				switch {
				case e.Dir == "c2a" && e.Msg.Method != "" && e.Msg.ID != nil:
					r.sent(e.Msg)
				case e.Dir == "a2c":
					r.received(t, e.Msg)
				}
			}
			got := dump(r.c) + r.log.String()
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("the conversation is\n%s\nwant\n%s", got, want)
			}
		})
	}
}
