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
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

func steps(h *driver.Hooks) *[]runtime.Step {
	var all []runtime.Step
	h.Report = func(s runtime.Step) { all = append(all, s) }
	return &all
}

func names(all []runtime.Step) []runtime.StepName {
	var out []runtime.StepName
	for _, s := range all {
		out = append(out, s.Name)
	}
	return out
}

func TestZeroHintsOnlyCreate(t *testing.T) {
	s := newSim("")
	h := s.hooks(false)
	got := steps(&h)
	if err := driver.RunStart(t.Context(), "a", runtime.Config{Command: "x"}, h); err != nil {
		t.Fatal(err)
	}
	if want := []runtime.StepName{runtime.StepCreate}; !slices.Equal(names(*got), want) || len(s.keys) > 0 {
		t.Fatalf("steps %v, keys %v", names(*got), s.keys)
	}
}

func TestStepsInOrder(t *testing.T) {
	dir := t.TempDir()
	work := filepath.Join(dir, "work")
	src := filepath.Join(dir, "file")
	if err := os.WriteFile(src, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSim("> ")
	s.alive = []string{"agent"}
	h := s.hooks(false)
	got := steps(&h)
	cfg := runtime.Config{
		WorkDir: work, Command: "agent", ProcessNames: []string{"agent"}, ReadyPromptPrefix: "> ", Nudge: "go",
		Env:          map[string]string{"GC_AGENT": "mayor"},
		PreStart:     []string{"mkdir " + work},
		CopyFiles:    []runtime.CopyFile{{Src: src}},
		SessionSetup: []string{"echo $GC_SESSION $GC_AGENT $GC_DIR > " + work + "/setup"}, SessionSetupScript: "echo script >> setup",
		SessionLive: []string{"echo live >> setup"},
	}
	if err := driver.RunStart(t.Context(), "a", cfg, h); err != nil {
		t.Fatal(err)
	}
	want := []runtime.StepName{
		runtime.StepPreStart, runtime.StepStage, runtime.StepCreate, runtime.StepAlive,
		runtime.StepSetup, runtime.StepReady, runtime.StepDialogs, runtime.StepNudge,
	}
	if !slices.Equal(names(*got), want) {
		t.Fatalf("steps %v", names(*got))
	}
	for _, st := range *got {
		if st.Err != nil || st.Session != "a" {
			t.Errorf("%+v", st)
		}
	}
	if text, err := os.ReadFile(filepath.Join(work, "setup")); err != nil || string(text) != "a mayor "+work+"\nscript\nlive\n" {
		t.Errorf("setup wrote %q, %v", text, err)
	}
	if !slices.Equal(s.nudges, []string{"go"}) || s.gone {
		t.Errorf("nudges %v, gone %v", s.nudges, s.gone)
	}
}

func TestEarlyStepsFailTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		cfg     runtime.Config
		want    error
		created bool
	}{
		"pre start":        {runtime.Config{PreStart: []string{"echo broken wheel; exit 3"}}, nil, false},
		"no work dir":      {runtime.Config{WorkDir: "/nonexistent/dir", OverlayDir: "/tmp"}, os.ErrNotExist, false},
		"copy escapes":     {runtime.Config{WorkDir: t.TempDir(), CopyFiles: []runtime.CopyFile{{Src: "/etc/hosts", RelDst: "../x"}}}, runtime.ErrPathEscapes, false},
		"create":           {runtime.Config{Command: "x"}, runtime.ErrSessionExists, true},
		"overlay is gone":  {runtime.Config{WorkDir: t.TempDir(), OverlayDir: "/nonexistent"}, os.ErrNotExist, false},
		"missing copy src": {runtime.Config{WorkDir: t.TempDir(), CopyFiles: []runtime.CopyFile{{Src: "/nonexistent"}}}, os.ErrNotExist, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim("")
			s.failing["create"] = runtime.ErrSessionExists
			err := driver.RunStart(t.Context(), "a", c.cfg, s.hooks(false))
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v", err)
			}
			if slices.Contains(s.order, "create") != c.created || slices.Contains(s.order, "destroy") {
				t.Errorf("did %v", s.order)
			}
			if name == "pre start" && !strings.Contains(err.Error(), "broken wheel") {
				t.Errorf("the error hides the output: %v", err)
			}
		})
	}
}

func TestHangingPreStartEndsWithTheDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	s := newSim("")
	err := driver.RunStart(ctx, "a", runtime.Config{PreStart: []string{"sleep 1000 & wait"}}, s.hooks(false))
	if !errors.Is(err, context.DeadlineExceeded) || len(s.order) > 0 {
		t.Fatalf("%v, did %v", err, s.order)
	}
}

func TestPreStartHasATimeOfItsOwn(t *testing.T) {
	s := newSim("")
	err := driver.RunStart(t.Context(), "a", runtime.Config{
		PreStart: []string{"sleep 1000 & wait"}, PreStartTimeout: 50 * time.Millisecond,
	}, s.hooks(false))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), `"sleep 1000 & wait" did not finish within 50ms`) || len(s.order) > 0 {
		t.Fatalf("%v, did %v", err, s.order)
	}
}

func TestDeathDuringStartup(t *testing.T) {
	for _, polling := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newSim("usage: agent [-x]\n")
			go func() {
				time.Sleep(time.Second)
				s.set(func() { s.exit = &runtime.Exit{Code: 2} })
			}()
			err := driver.RunStart(t.Context(), "a", runtime.Config{ProcessNames: []string{"agent"}}, s.hooks(polling))
			var d *runtime.StartupDeath
			if !errors.As(err, &d) || !errors.Is(err, runtime.ErrSessionDiedDuringStartup) {
				t.Fatalf("error %v", err)
			}
			if d.Code != 2 || d.Screen != "usage: agent [-x]" || !s.gone {
				t.Fatalf("%+v, destroyed %v", d, s.gone)
			}
		})
	}
}

func TestBoundedWorkMayEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim("done\n")
		s.exit = &runtime.Exit{}
		cfg := runtime.Config{ProcessNames: []string{"agent"}, ReadyPromptPrefix: "> ", Nudge: "x", Lifecycle: runtime.OneShot}
		if err := driver.RunStart(t.Context(), "a", cfg, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if s.gone || len(s.nudges) > 0 {
			t.Fatalf("destroyed %v, nudges %v", s.gone, s.nudges)
		}
	})
}

func TestPassedLimitsAreWarnings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim("something else\n")
		h := s.hooks(false)
		got := steps(&h)
		cfg := runtime.Config{ProcessNames: []string{"agent"}, ReadyPromptPrefix: "> ", SessionSetup: []string{"exit 1"}}
		begin := time.Now()
		if err := driver.RunStart(t.Context(), "a", cfg, h); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 90*time.Second || took > 91*time.Second {
			t.Errorf("took %v", took)
		}
		for _, st := range *got {
			warned := st.Err != nil
			want := st.Name == runtime.StepAlive || st.Name == runtime.StepReady || st.Name == runtime.StepSetup
			if warned != want {
				t.Errorf("%s: %v", st.Name, st.Err)
			}
		}
	})
}

func TestDeadlineOfTheWholeFailsAndCleansUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newSim("")
		go func() { time.Sleep(time.Second); cancel() }()
		err := driver.RunStart(ctx, "a", runtime.Config{ReadyPromptPrefix: "> "}, s.hooks(false))
		if !errors.Is(err, context.Canceled) || !s.gone {
			t.Fatalf("%v, destroyed %v", err, s.gone)
		}
	})
}

func TestLimitsLeaveRoomBelowTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		s := newSim("no prompt here")
		if err := driver.RunStart(ctx, "a", runtime.Config{ReadyPromptPrefix: "> ", Nudge: "x"}, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if len(s.nudges) != 1 {
			t.Fatal("the start did not go on")
		}
	})
}

func TestUnreachableBackendFailsTheStart(t *testing.T) {
	for _, call := range []string{"alive", "ended", "screen"} {
		s := newSim("")
		s.failing[call] = runtime.ErrBackendUnreachable
		cfg := runtime.Config{ReadyPromptPrefix: "> "}
		if call == "alive" {
			cfg.ProcessNames = []string{"x"}
		}
		if err := driver.RunStart(t.Context(), "a", cfg, s.hooks(false)); !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestReadyIsPushed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim("loading")
		go func() {
			time.Sleep(3 * time.Second)
			s.set(func() { s.screen = "│ >                │" })
		}()
		begin := time.Now()
		if err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "> "}, s.hooks(false)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 3*time.Second || took > 3200*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

// While a dialog is painted line by line it looks like a prompt.
func TestPromptThatTurnsOutToBeADialog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSim("Delete everything?\n ❯ Yes, all of it")
		go func() {
			time.Sleep(30 * time.Millisecond)
			s.set(func() { s.screen = "Delete everything?\n ❯ 1. Yes, all of it\n   2. No" })
		}()
		err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyPromptPrefix: "❯ "}, s.hooks(false))
		if !errors.Is(err, runtime.ErrStartupBlocked) || len(s.keys) > 0 {
			t.Fatalf("%v, keys %v", err, s.keys)
		}
	})
}

func TestReadyDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := driver.RunStart(t.Context(), "a", runtime.Config{ReadyDelay: clock.Millis(8 * time.Second)}, newSim("x").hooks(true)); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 8*time.Second || took > 8200*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

func TestNudgeThatIsNotSubmittedIsAWarning(t *testing.T) {
	s := newSim("")
	s.receipt = runtime.Receipt{State: runtime.Drafted}
	h := s.hooks(false)
	got := steps(&h)
	if err := driver.RunStart(t.Context(), "a", runtime.Config{Nudge: "x"}, h); err != nil {
		t.Fatal(err)
	}
	if st := (*got)[len(*got)-1]; st.Name != runtime.StepNudge || st.Err == nil {
		t.Fatalf("%+v", st)
	}
}
