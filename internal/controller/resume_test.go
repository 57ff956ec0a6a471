package controller

import (
	"context"
	"strings"
	"testing"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

const talker = `
[providers.talker]
command = "talk"
session_id_flag = "--session-id"
resume_flag = "--resume"
[[agents]]
name = "a"
provider = "talker"
`

// A start resumes the agent's conversation; a conversation that cannot be
// resumed is abandoned.
func TestConversationIsResumed(t *testing.T) {
	bubble(t, talker, func(r *rig) {
		command := func() string {
			cfg, _ := r.fake.ConfigOf("gc-city-a")
			return cfg.Command
		}
		r.start()
		r.wantState("a", api.StateRunning)
		first, ok := strings.CutPrefix(command(), "talk --session-id ")
		if !ok {
			t.Fatalf("command %q", command())
		}
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		if command() != "talk --resume "+first {
			t.Errorf("after a crash: %q", command())
		}
		r.end()
		r.fake.Exit("gc-city-a", 1)
		r.fake.FailTimes("Start", "gc-city-a", &runtime.StartupDeath{Session: "gc-city-a", Code: 1}, 1)
		r.start() // fails to resume, then begins another
		r.wantState("a", api.StateRunning)
		second, ok := strings.CutPrefix(command(), "talk --session-id ")
		if !ok || second == first {
			t.Errorf("after a conversation that is gone: %q", command())
		}
		r.end()
	})
}

const finder = `
[providers.finder]
command = "talk"
resume_flag = "--resume"
conversation_from = "open-file"
conversation_dir = "$HOME"
conversation_files = "rollout-{id}.jsonl"
[[agents]]
name = "a"
provider = "finder"
prompt_template = "do the work"
`

// opener is a fake whose programs have files open.
type opener struct {
	*runtimefake.Fake
	files string
}

func (p *opener) Exec(_ context.Context, _ string, argv []string) ([]byte, int, error) {
	return []byte(p.files), 0, nil
}

// The conversation of a program that takes no id is found at the latest when it is
// stopped, and resumed without its prompt. One that is not certain is not resumed, and
// an event says so.
func TestConversationIsFound(t *testing.T) {
	const one, other = "01a2097b-af3a-7ee2-b9fc-ffe2055f3cc1", "01a2097b-af3a-7ee2-b9fc-ffe2055f3cc2"
	bubble(t, finder, func(r *rig) {
		p := &opener{Fake: r.fake}
		start := func() {
			r.start(func(o *Options) { o.Provider = p })
			r.wantState("a", api.StateRunning)
		}
		stop := func() {
			r.t.Helper()
			if err := r.l.calls.Stop(context.Background(), api.StopRequest{}); err != nil {
				r.t.Error(err)
			}
			r.end()
		}
		command := func() (string, bool) {
			cfg, _ := r.fake.ConfigOf("gc-city-a")
			return cfg.Command, cfg.PromptSuffix != ""
		}
		start()
		if line, prompt := command(); line != "talk" || !prompt {
			t.Errorf("begun: %q, prompt %v", line, prompt)
		}
		p.files = "/x/rollout-" + one + ".jsonl\n"
		stop()
		start()
		if line, prompt := command(); line != "talk --resume "+one || prompt {
			t.Errorf("resumed: %q, prompt %v", line, prompt)
		}
		p.files += "/x/rollout-" + other + ".jsonl\n"
		stop()
		start()
		if line, _ := command(); line != "talk --resume "+one {
			t.Errorf("with two files open, the one that is known: %q", line)
		}
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		r.end()
	})
	bubble(t, finder, func(r *rig) {
		p := &opener{Fake: r.fake, files: "/x/rollout-" + one + ".jsonl\n/x/rollout-" + other + ".jsonl\n"}
		r.start(func(o *Options) { o.Provider = p })
		r.wantState("a", api.StateRunning)
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		if strings.Contains(r.log.String(), "a new conversation: ") {
			t.Errorf("an agent that never took a message had none; log:\n%s", r.log)
		}
		if err := r.l.do(context.Background(), func() { r.l.agents.all["gc-city-a"].seen.Record.Served = true }); err != nil {
			t.Fatal(err)
		}
		r.fake.Exit("gc-city-a", 1)
		r.wantState("a", api.StateRunning)
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		if cfg.Command != "talk" || cfg.PromptSuffix == "" || !strings.Contains(r.log.String(), "a new conversation: it is not known which one finder had before") {
			t.Errorf("command %q; log:\n%s", cfg.Command, r.log)
		}
		r.end()
	})
}
