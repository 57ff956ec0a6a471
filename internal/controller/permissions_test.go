package controller

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/controller/api"
)

const claudeAgent = "[[agents]]\nname = \"a\"\nprovider = \"claude\"\nready_delay_ms = 0\n"

// A changed default, as with a newer gc, restarts nothing: the agent keeps what
// it was started with, and its next start has the new one.
func TestChangedDefaultOfPermissionsRestartsNothing(t *testing.T) {
	bubble(t, "[agent_defaults]\npermissions = \"bypass\"\n"+claudeAgent, func(r *rig) {
		r.start()
		if a := r.wantState("a", api.StateRunning); a.Permissions != "bypass" || !a.Unchecked {
			t.Errorf("status %+v", a)
		}
		r.end()
		r.write(claudeAgent)
		r.start()
		a := r.wantState("a", api.StateRunning)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := r.starts("gc-city-a"); n != 1 || a.Permissions != "bypass" || !a.Unchecked {
			t.Errorf("%d starts, status %+v\nlog:\n%s", n, a, r.log)
		}
		r.fake.Exit("gc-city-a", 1)
		a = r.wantState("a", api.StateRunning)
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		if !strings.HasPrefix(cfg.Command, "claude --permission-mode default") || a.Permissions != "ask" || a.Unchecked {
			t.Errorf("the next start runs %q, status %+v", cfg.Command, a)
		}
		r.end()
	})
}

func TestOwnPermissionsAreTheAgentsConfig(t *testing.T) {
	bubble(t, claudeAgent, func(r *rig) {
		r.start()
		r.wantState("a", api.StateRunning)
		r.reload(claudeAgent + "permissions = \"auto-edit\"\n")
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		cfg, _ := r.fake.ConfigOf("gc-city-a")
		if !strings.HasPrefix(cfg.Command, "claude --permission-mode acceptEdits") {
			t.Errorf("it still runs %q", cfg.Command)
		}
		r.end()
	})
}
