package controller

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

const (
	movedNames = "session_template = \"new-{{.Agent}}\"\n"
	twoAgents  = "[[agents]]\nname = \"a\"\nstart_command = \"one\"\n[[agents]]\nname = \"b\"\nstart_command = \"two\"\n"
)

// running returns the sessions that run.
func (r *rig) running() []string {
	r.t.Helper()
	synctest.Wait()
	list, err := r.fake.ListRunning(r.t.Context(), "")
	if err != nil {
		r.t.Fatal(err)
	}
	return list
}

func (r *rig) wantRunning(when string, want ...string) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.running()); diff != "" {
		r.t.Fatalf("%s:\n%s\n%s", when, diff, r.log)
	}
}

// TestAChangedNameIsAMove: the old session is drained, then the new one starts;
// both never run at the same time, whenever the change is noticed.
func TestAChangedNameIsAMove(t *testing.T) {
	for name, restart := range map[string]bool{"by a reload": false, "by a controller that starts": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, oneAgent, func(r *rig) {
				r.start()
				r.wantState("a", api.StateRunning)
				if restart {
					r.end()
					r.write(movedNames + oneAgent)
					r.start()
				} else {
					r.reload(movedNames + oneAgent)
				}
				r.wantRunning("while the old one drains", "gc-city-a")
				if r.fake.MetaOf("gc-city-a")[agent.MetaDrain] == "" {
					t.Error("the old session was not asked to end")
				}
				if a := r.wantState("a", api.StateStopped); a.WaitsFor != "the end of session gc-city-a" {
					t.Errorf("waits for %q", a.WaitsFor)
				}
				r.fake.Exit("gc-city-a", 0)
				r.wantRunning("after it has ended", "new-a")
				if a := r.wantState("a", api.StateRunning); a.Restarts != 0 || a.LastExit != nil && a.LastExit.Code != 0 {
					t.Errorf("a move is not a crash: %+v", a)
				}
				r.reload(oneAgent) // and back
				r.wantRunning("while it drains", "new-a")
				time.Sleep(3 * time.Minute) // it does not obey
				r.wantRunning("after the limit", "gc-city-a")
				r.end()
			})
		})
	}
}

// TestMoveWaitsForAnUnreachableBackend: the old session may be running.
func TestMoveWaitsForAnUnreachableBackend(t *testing.T) {
	bubble(t, oneAgent, func(r *rig) {
		r.start()
		r.wantState("a", api.StateRunning)
		r.fake.Fail("GetMeta", "gc-city-a", runtime.ErrBackendUnreachable)
		r.end()
		r.write(movedNames + oneAgent)
		r.start()
		time.Sleep(10 * time.Minute)
		r.wantRunning("while the old one is unknown", "gc-city-a")
		r.fake.Fail("GetMeta", "gc-city-a", nil)
		time.Sleep(10 * time.Minute)
		r.wantRunning("after", "new-a")
		r.end()
	})
}

// TestNamesThatAreSwapped: neither agent is taken for the other.
func TestNamesThatAreSwapped(t *testing.T) {
	for name, restart := range map[string]bool{"by a reload": false, "by a controller that starts": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, "session_template = \"{{if eq .Agent \\\"a\\\"}}x{{else}}y{{end}}\"\n"+twoAgents, func(r *rig) {
				r.start()
				r.wantState("b", api.StateRunning)
				swapped := "session_template = \"{{if eq .Agent \\\"b\\\"}}x{{else}}y{{end}}\"\n" + twoAgents
				if restart {
					r.end()
					r.write(swapped)
					r.start()
				} else {
					r.reload(swapped)
				}
				synctest.Wait()
				time.Sleep(10 * time.Minute)
				r.wantRunning("in the end", "x", "y")
				for session, command := range map[string]string{"x": "two", "y": "one"} {
					if cfg, _ := r.fake.ConfigOf(session); !strings.HasPrefix(cfg.Command, command) {
						t.Errorf("%s runs %q, want %q\n%s", session, cfg.Command, command, r.log)
					}
				}
				r.end()
			})
		})
	}
}

// TestTwoCitiesOfOneName: the second to start gets names of its own,
// permanently; the first keeps its names even while it does not run.
func TestTwoCitiesOfOneName(t *testing.T) {
	fake, claims := runtimefake.New(), t.TempDir()
	once := func(dir string) []string {
		t.Helper()
		c, err := config.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := Run(t.Context(), Options{City: c, Provider: fake, Claims: claims, Once: true}); err != nil {
			t.Fatal(err)
		}
		var mine []string
		list, _ := fake.ListRunning(t.Context(), "")
		for _, name := range list {
			if fake.MetaOf(name)[agent.MetaCityPath] == c.Dir {
				mine = append(mine, name)
			}
		}
		return mine
	}
	stop := func(dir string) {
		t.Helper()
		c, err := config.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := StopCity(t.Context(), Options{City: c, Provider: fake, Claims: claims}); err != nil {
			t.Fatal(err)
		}
	}
	text := "[workspace]\nname = \"town\"\n[[agents]]\nname = \"a\"\nstart_command = \"x\"\n"
	first, second := cityDir(t, text), cityDir(t, text)
	if got := once(first); !cmp.Equal(got, []string{"gc-town-a"}) {
		t.Fatalf("the first runs %v", got)
	}
	stop(first) // it owns its names nevertheless
	own := once(second)
	if len(own) != 1 || !strings.HasPrefix(own[0], "gc-town-a-") {
		t.Fatalf("the second runs %v", own)
	}
	if got := once(first); !cmp.Equal(got, []string{"gc-town-a"}) {
		t.Fatalf("the first runs %v", got)
	}
	stop(first)
	if got := once(second); !cmp.Equal(got, own) {
		t.Errorf("the second runs %v, want %v", got, own)
	}
	stop(second)
	if err := os.RemoveAll(first); err != nil {
		t.Fatal(err)
	}
	if got := once(second); !cmp.Equal(got, own) {
		t.Errorf("with the first gone the second runs %v, want %v for ever", got, own)
	}
	stop(second)
	copied := cityDir(t, text) // with .gc, as cp -r does
	b, err := os.ReadFile(config.IdentityPath(second))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(config.IdentityPath(copied)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(config.IdentityPath(copied), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := once(copied); cmp.Equal(got, own) || len(got) != 1 {
		t.Errorf("a copy runs %v", got)
	}
	stop(copied)
}

func cityDir(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, config.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Without events, a requested end is not left to the patrol.
func TestDrainEndsWithoutEvents(t *testing.T) {
	bubble(t, "[daemon]\npatrol_interval = \"1h\"\n"+oneAgent, func(r *rig) {
		r.fake.Fail("Events", "", runtime.ErrUnsupported)
		r.start()
		r.wantState("a", api.StateRunning)
		r.end()
		r.write(movedNames + "[daemon]\npatrol_interval = \"1h\"\n" + oneAgent)
		r.start()
		r.wantRunning("while the old one drains", "gc-city-a")
		r.fake.Exit("gc-city-a", 0)
		time.Sleep(2 * time.Second)
		r.wantRunning("after it has ended", "new-a")
		r.end()
	})
}
