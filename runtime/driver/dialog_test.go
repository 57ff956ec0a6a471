package driver_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

const trustHead = " Quick safety check: Is this a project you created or one you trust?"

var trustLabels = []string{"Yes, I trust this folder", "No, exit"}

// ready is what an agent shows after its dialogs.
func ready(label string) string { return "you chose " + label + "\n\n❯ \n" }

func TestTrustDialogWithEitherDefault(t *testing.T) {
	for _, polling := range []bool{true, false} {
		for marked := range trustLabels {
			for _, labels := range [][]string{trustLabels, {trustLabels[1], trustLabels[0]}} {
				// a sim made inside its bubble, for its channels
				synctest.Test(t, func(t *testing.T) {
					s := menuSim(trustHead, labels, marked, ready)
					if err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(polling)); err != nil {
						t.Fatal(err)
					}
					if !strings.HasPrefix(s.screen, "you chose Yes, I trust") {
						t.Fatalf("keys %v led to %q", s.keys, s.screen)
					}
					if n := len(s.keys); n > 2 || s.keys[n-1] != "Enter" {
						t.Fatalf("keys %v", s.keys)
					}
				})
			}
		}
	}
}

func TestDialogsOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *sim
		second := menuSim(" WARNING: running in Bypass Permissions mode", []string{"No, exit", "Yes, I accept"}, 0, ready)
		s = menuSim(trustHead, trustLabels, 0, func(string) string { return second.screen })
		first := s.onKey
		s.onKey = func(s *sim, key string) {
			if strings.Contains(s.screen, "Bypass") {
				second.onKey(second, key)
				s.screen = second.screen
				return
			}
			first(s, key)
		}
		if err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"Enter", "Down", "Enter"}; !slices.Equal(s.keys, want) {
			t.Fatalf("keys %v", s.keys)
		}
	})
}

func TestUnknownDialogGetsNoKey(t *testing.T) {
	for name, head := range map[string]string{
		"unknown question":            " Shall I upload the folder to the cloud?",
		"known question, odd options": trustHead,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := menuSim(head, []string{"Sure", "Never"}, 0, ready)
				begin := time.Now()
				err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(false))
				var b *runtime.StartupBlocked
				if !errors.As(err, &b) || !strings.Contains(b.Screen, head) {
					t.Fatalf("error %v", err)
				}
				if len(s.keys) > 0 || !s.gone {
					t.Fatalf("keys %v, destroyed %v", s.keys, s.gone)
				}
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestUnknownDialogAfterADelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := menuSim(" Pick one", []string{"A", "B"}, 0, ready)
		err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyDelay: clock.Millis(time.Second)}, s.hooks(true))
		if !errors.Is(err, runtime.ErrStartupBlocked) || len(s.keys) > 0 {
			t.Fatalf("%v, keys %v", err, s.keys)
		}
	})
}

func TestRecordedScreensAreNeverTypedInto(t *testing.T) {
	files, err := filepath.Glob("../../internal/rule/testdata/*.screen")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, screen, _ := strings.Cut(string(data), "\n")
		if strings.HasPrefix(want, "known") && !strings.Contains(want, "rate limit") {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			s := newSim(screen)
			err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyDelay: clock.Millis(100 * time.Millisecond)}, s.hooks(false))
			blocks := strings.Contains(want, "marked") && !strings.Contains(want, "rate limit") // left for a person
			if blocks != errors.Is(err, runtime.ErrStartupBlocked) {
				t.Errorf("%s (%s): %v", f, want, err)
			}
			if len(s.keys) > 0 {
				t.Errorf("%s: typed %v", f, s.keys)
			}
		})
	}
}

func TestSelectionThatDoesNotMoveIsNeverConfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := menuSim(trustHead, trustLabels, 1, ready)
		s.onKey = func(*sim, string) {} // deaf
		err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(false))
		if !errors.Is(err, runtime.ErrStartupBlocked) || slices.Contains(s.keys, "Enter") {
			t.Fatalf("%v, keys %v", err, s.keys)
		}
	})
}

func TestDialogThatStaysGetsOneEnter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := menuSim(trustHead, trustLabels, 0, ready)
		s.onKey = func(*sim, string) {}
		err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(false))
		if !errors.Is(err, runtime.ErrStartupBlocked) || !slices.Equal(s.keys, []string{"Enter"}) {
			t.Fatalf("%v, keys %v", err, s.keys)
		}
	})
}

func TestDialogSwappedUnderTheSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := menuSim(trustHead, trustLabels, 1, ready)
		// Another question opens instead of the selection moving.
		s.onKey = func(s *sim, key string) {
			s.screen = " Delete all files?\n\n ❯ 1. Yes\n   2. No\n"
		}
		err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(false))
		if !errors.Is(err, runtime.ErrStartupBlocked) || !slices.Equal(s.keys, []string{"Up"}) {
			t.Fatalf("%v, keys %v", err, s.keys)
		}
	})
}

func TestDialogsOffTypesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		off := false
		s := menuSim(trustHead, trustLabels, 0, ready)
		cfg := runtime.Config{ReadyPromptPrefix: "❯ ", AcceptStartupDialogs: &off}
		if err := driver.RunStart(t.Context(), "a", cfg, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if len(s.keys) > 0 {
			t.Fatalf("keys %v", s.keys)
		}
	})
}

// dismiss answers the dialogs on the screen.
func dismiss(t *testing.T, h driver.Hooks) error {
	on, idle := true, false
	return driver.AwaitFirstIdle(t.Context(), "a", runtime.Config{AcceptStartupDialogs: &on}, h, driver.StartupWaits{
		Idle:    func(context.Context) (bool, error) { return idle, nil },
		Changed: func(context.Context) error { idle = true; return nil },
	})
}

func TestDismissIsIdempotent(t *testing.T) {
	s := newSim("just a conversation about Bypass Permissions mode\n❯ ")
	for range 2 {
		if err := dismiss(t, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.keys) > 0 {
		t.Fatalf("keys %v", s.keys)
	}
}

func TestOwnDialogsOfAConfig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		own := runtime.Dialog{Name: "telemetry", Detect: []string{"Send usage data?"}, Options: []string{"Send", "Keep"}, Wanted: "Keep", When: rule.Startup}
		s := menuSim(" Send usage data?", []string{"Send", "Keep"}, 0, ready)
		cfg := runtime.Config{ReadyPromptPrefix: "❯ ", Dialogs: []runtime.Dialog{own}}
		if err := driver.RunStart(t.Context(), "a", cfg, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.screen, "you chose Keep") {
			t.Fatalf("%q", s.screen)
		}
	})
}

// A slow repaint after a key does not count as a closed dialog.
func TestSlowlyPaintedDialog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const question = " Quick safety check\n\n"
		screen := question + " ❯ 1. No, exit\n   2. Yes, I trust this folder\n\n Enter to confirm"
		var keys []string
		var painted time.Time
		h := driver.Hooks{
			Screen: func(context.Context) (string, error) {
				if time.Now().Before(painted) {
					return "", nil
				}
				return screen, nil
			},
			Keys: func(_ context.Context, k ...string) error {
				keys = append(keys, k...)
				screen = question + "   1. No, exit\n ❯ 2. Yes, I trust this folder\n\n Enter to confirm"
				painted = time.Now().Add(time.Second)
				if k[0] == "Enter" {
					screen = "welcome"
				}
				return nil
			},
		}
		if err := dismiss(t, h); err != nil {
			t.Error(err)
		}
		if got := strings.Join(keys, " "); got != "Down Enter" {
			t.Errorf("keys %q", got)
		}
	})
}
