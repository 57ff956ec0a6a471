package controller

import (
	"strings"
	"testing"

	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
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
