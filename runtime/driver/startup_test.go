package driver_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

const bypassHead = " WARNING: Claude Code running in Bypass Permissions mode"

var bypassLabels = []string{"No, exit", "Yes, I accept"}

// A dialog that turns off the checks is answered only if config turns them off;
// otherwise the program keeps its question.
func TestBypassIsAcceptedOnlyWhereConfigSaysSo(t *testing.T) {
	for _, keep := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := menuSim(bypassHead, bypassLabels, 0, ready)
			h := s.hooks(false)
			got := steps(&h)
			cfg := runtime.Config{ReadyPromptPrefix: "❯ ", KeepChecks: keep, Nudge: "hello"}
			if err := driver.RunStart(t.Context(), "a", cfg, h); err != nil {
				t.Fatal(err)
			}
			if accepted := strings.HasPrefix(s.screen, "you chose Yes"); accepted == keep || keep && len(s.keys)+len(s.nudges) > 0 || s.gone {
				t.Errorf("keep %v: keys %v, nudges %v, screen %q", keep, s.keys, s.nudges, s.screen)
			}
			var a *runtime.Accepted
			for _, step := range *got {
				if step.Accepted != nil {
					a = step.Accepted
				}
			}
			if keep {
				if a != nil || !(*got)[1].Warning || !strings.Contains((*got)[1].Err.Error(), "permission") {
					t.Errorf("accepted %+v, steps %+v", a, *got)
				}
				return
			}
			if a == nil || a.Dialog != "bypass permissions" || a.Kind != "permission" || a.Label != "Yes, I accept" || !strings.Contains(a.Question, "Bypass") {
				t.Errorf("accepted %+v", a)
			}
		})
	}
}

// A program that asks for a key or a login stays up, untouched, for a person.
func TestStartLeavesALoginToAPerson(t *testing.T) {
	recorded, err := os.ReadFile("../../internal/rule/testdata/qwen-provider.screen")
	if err != nil {
		t.Fatal(err)
	}
	auth := runtime.StatusRule{Name: "login", State: "blocked", Kind: "auth", Region: "bottom", All: []string{"Please use /login"}}
	for name, tt := range map[string]struct {
		s   *sim
		cfg runtime.Config
	}{
		"menu":           {menuSim(" Do you want to use this API key?", []string{"Yes", "No (recommended)"}, 1, ready), runtime.Config{ReadyPromptPrefix: "❯ ", Nudge: "x"}},
		"menu, no sign":  {menuSim(" Select login method:", []string{"A", "B"}, 0, ready), runtime.Config{ReadyDelay: clock.Millis(10 * time.Millisecond), Nudge: "x"}},
		"unknown menu":   {newSim(string(recorded)), runtime.Config{ReadyPromptPrefix: "> ", Nudge: "x"}},
		"rule":           {newSim("Please use /login to sign in\n┃\n"), runtime.Config{ReadyPromptPrefix: "> ", StatusRules: []runtime.StatusRule{auth}, Nudge: "x"}},
		"over its input": {newSim("Please use /login to sign in\n> \n"), runtime.Config{ReadyPromptPrefix: "> ", StatusRules: []runtime.StatusRule{auth}, Nudge: "x"}},
	} {
		s, cfg := tt.s, tt.cfg
		synctest.Test(t, func(t *testing.T) {
			s.change = make(chan struct{}) // of this bubble
			h := s.hooks(true)
			got := steps(&h)
			before := time.Now()
			if err := driver.RunStart(t.Context(), "a", cfg, h); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if len(s.keys)+len(s.nudges) > 0 || s.gone || time.Since(before) > 5*time.Second {
				t.Errorf("%s: keys %v, nudges %v, gone %v after %v", name, s.keys, s.nudges, s.gone, time.Since(before))
			}
			if last := (*got)[len(*got)-1]; last.Name != runtime.StepNudge || !last.Warning {
				t.Errorf("%s: the nudge step says %+v", name, last)
			}
		})
	}
}

// A program without a prompt prefix is up once one of its status rules matches,
// however long its screen stays blank.
func TestReadyByStatusRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim("")
		rules := []runtime.StatusRule{{Name: "home", State: "idle", Region: "bottom", All: []string{"Ask anything"}}}
		time.AfterFunc(25*time.Second, func() { s.set(func() { s.screen = "┃ Ask anything\n" }) })
		before := time.Now()
		if err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyDelay: clock.Millis(8 * time.Second), StatusRules: rules}, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(before); d < 25*time.Second || d > 27*time.Second {
			t.Errorf("ready after %v", d)
		}
	})
}

// Programs open dialogs after their prompt appeared. They are answered until there
// is evidence that the program takes messages.
func TestDialogsAfterReadyAreAnsweredUntilTheFirstIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trust := menuSim(trustHead, trustLabels, 1, func(string) string { return "❯ working\n" })
		unknown := menuSim(" Pick one", []string{"A", "B"}, 0, nil)
		s := newSim("❯ \n")
		s.onKey = func(s *sim, key string) {
			trust.onKey(trust, key)
			s.screen = trust.screen
		}
		idle := func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.screen == "❯ idle\n" }
		blocked := func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			_, open := rule.Find(s.screen, rule.Dialogs())
			return open
		}
		wait := func(ctx context.Context) error {
			s.mu.Lock()
			ch := s.change
			s.mu.Unlock()
			select {
			case <-ch:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		w := driver.StartupWaits{Changed: wait, Idle: func(ctx context.Context) (bool, error) {
			for {
				if idle() || blocked() {
					return idle(), nil
				}
				if err := wait(ctx); err != nil {
					return false, err
				}
			}
		}}
		done := make(chan error, 1)
		cfg := runtime.Config{ReadyPromptPrefix: "❯ "}
		go func() { done <- driver.AwaitFirstIdle(t.Context(), "a", cfg, s.hooks(true), w) }()
		show := func(screen string) {
			time.Sleep(time.Minute)
			synctest.Wait()
			s.set(func() { s.screen = screen })
		}
		show(trust.screen)
		show(unknown.screen) // a person answers it
		keys := len(s.keys)
		show("❯ working\n")
		show("❯ idle\n")
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(strings.Join(s.keys, " "), "Up Enter") || len(s.keys) != keys {
			t.Errorf("keys %v, %d of them before the unknown dialog", s.keys, keys)
		}
	})
}
