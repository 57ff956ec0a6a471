package runtimetest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
)

var outputCases = []testCase{
	{name: "peek of a missing session is ErrSessionNotFound", test: func(t *T) {
		if _, err := t.P.Peek(t.Ctx, t.name(), 0); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("peek: %v", err)
		}
	}},
	{name: "peek of n lines gives the last n", needs: []need{programs, terminal}, test: func(t *T) {
		name := t.sh("seq 1 200; exec cat")
		t.shows(name, "200")
		got, err := t.P.Peek(t.Ctx, name, 3)
		if err != nil || got != "198\n199\n200" {
			t.Fatalf("%q, %v", got, err)
		}
	}},
	{name: "peek of everything reaches into the scrollback", needs: []need{programs, terminal}, test: func(t *T) {
		name := t.sh("seq 1 500; exec cat")
		t.shows(name, "500")
		lines := strings.Split(t.peek(name), "\n")
		if len(lines) != 500 || lines[0] != "1" || lines[499] != "500" {
			t.Fatalf("%d lines from %q to %q", len(lines), lines[0], lines[len(lines)-1])
		}
		if got, err := t.P.Peek(t.Ctx, name, -1); err != nil || got != strings.Join(lines, "\n") {
			t.Fatalf("negative lines: %d bytes, %v", len(got), err)
		}
	}},
	{name: "peek cuts trailing blanks", needs: []need{programs, exactPeek}, test: func(t *T) {
		name := t.sh("printf 'left   \\n\\n  in   \\n\\n\\n'; exec cat")
		t.shows(name, "in")
		if got := t.peek(name); got != "left\n\n  in" {
			t.Fatalf("%q", got)
		}
	}},
	{name: "peek shows the screen and not the bytes", needs: []need{programs, exactPeek}, test: func(t *T) {
		name := t.sh("printf 'abcdef\\rXY\\033[31mZ\\033[0m\\033[3;5Hhere\\033[1;1H'; exec cat")
		t.shows(name, "here")
		if got := t.peek(name); got != "XYZdef\n\n    here" {
			t.Fatalf("%q", got)
		}
	}},
	{name: "peek shows the alternate screen while it is on", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		name := t.sh("echo below; printf '\\033[?1049h\\033[Habove'; read x; printf '\\033[?1049l'; exec cat")
		t.shows(name, "above")
		if got, err := t.P.Peek(t.Ctx, name, 1); err != nil || strings.Contains(got, "below") {
			t.Fatalf("%q, %v", got, err)
		}
		t.must(t.P.SendKeys(t.Ctx, name, "Enter"))
		t.eventually("the main screen", func() error {
			if got := t.peek(name); strings.Contains(got, "above") || !strings.Contains(got, "below") {
				return fmt.Errorf("screen %q", got)
			}
			return nil
		})
	}},
	{name: "the last screen of an exited session is kept", needs: []need{programs, lastShown}, test: func(t *T) {
		goOn := filepath.Join(t.TempDir(), "go-on")
		name := t.sh("echo last words; until test -e " + goOn + "; do sleep 0.01; done; exit 4")
		t.shows(name, "last words")
		t.must(os.WriteFile(goOn, nil, 0o600))
		t.ends(name)
		t.shows(name, "last words")
	}},
	{name: "what a program writes right before its end is kept", needs: []need{programs, lastWords}, test: func(t *T) {
		name := t.sh("echo last words; exit 4")
		t.ends(name)
		t.shows(name, "last words")
	}},
	{name: "nothing is kept after stop", test: func(t *T) {
		name := t.idle()
		t.must(t.P.Stop(t.Ctx, name))
		if _, err := t.P.Peek(t.Ctx, name, 0); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("peek: %v", err)
		}
	}},
	{name: "clearing the scrollback keeps the screen", needs: []need{programs, exactPeek}, test: func(t *T) {
		name := t.sh("seq 1 300; exec cat")
		t.shows(name, "300")
		t.must(t.P.ClearScrollback(t.Ctx, name))
		t.eventually("the short scrollback", func() error {
			got := strings.Split(t.peek(name), "\n")
			if len(got) > 40 || got[len(got)-1] != "300" {
				return fmt.Errorf("%d lines, last %q", len(got), got[len(got)-1])
			}
			return nil
		})
	}},
	{name: "clearing a missing session is nil", test: func(t *T) { t.must(t.P.ClearScrollback(t.Ctx, t.name())) }},
	{name: "output without a viewer is not lost", needs: []need{programs}, test: func(t *T) {
		name := t.sh("i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done; exec cat")
		t.shows(name, "line 3000")
		if got := strings.Count(t.peek(name), "line "); got != 3000 {
			t.Fatalf("%d of 3000 lines", got)
		}
	}},
}

var metaCases = []testCase{
	{name: "metadata is set, read and removed", test: func(t *T) {
		name := t.idle()
		get := func(want string) {
			t.Helper()
			if got, err := t.P.GetMeta(t.Ctx, name, "GC_KEY"); got != want || err != nil {
				t.Fatalf("%q, %v; want %q", got, err, want)
			}
		}
		get("")
		t.must(t.P.SetMeta(t.Ctx, name, "GC_KEY", "one"))
		get("one")
		t.must(t.P.SetMeta(t.Ctx, name, "GC_KEY", "two"))
		get("two")
		t.must(t.P.RemoveMeta(t.Ctx, name, "GC_KEY"))
		get("")
		t.must(t.P.RemoveMeta(t.Ctx, name, "GC_KEY"))
	}},
	{name: "metadata holds every byte value", test: func(t *T) {
		name := t.idle()
		all := make([]byte, 0, 600)
		for i := range 256 {
			all = append(all, byte(i))
		}
		for _, value := range []string{string(all), "\n", " lead and trail \n", "$(id) `id` '\"\\", strings.Repeat("long ", 4000)} {
			t.must(t.P.SetMeta(t.Ctx, name, "k", value))
			if got, err := t.P.GetMeta(t.Ctx, name, "k"); got != value || err != nil {
				t.Errorf("%d bytes became %d, %v", len(value), len(got), err)
			}
		}
	}},
	{name: "metadata ends with stop", test: func(t *T) {
		name := t.idle()
		t.must(t.P.SetMeta(t.Ctx, name, "k", "v"))
		t.must(t.P.Stop(t.Ctx, name))
		if got, err := t.P.GetMeta(t.Ctx, name, "k"); got != "" || err != nil {
			t.Fatalf("after stop: %q, %v", got, err)
		}
		t.startAs(name, runtime.Config{Command: "exec cat"})
		if got, err := t.P.GetMeta(t.Ctx, name, "k"); got != "" || err != nil {
			t.Fatalf("after the next start: %q, %v", got, err)
		}
	}},
	{name: "metadata of an exited session never reaches the next start", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "mkfifo gate; read x < gate; exit 0"})
		t.must(t.P.SetMeta(t.Ctx, name, "k", "v"))
		t.eventually("the pipe", func() error { return statFifo(dir) })
		t.must(writeFifo(t.Ctx, dir+"/gate"))
		t.ends(name)
		t.startAs(name, runtime.Config{Command: "exec cat"})
		if got, err := t.P.GetMeta(t.Ctx, name, "k"); got != "" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}},
	{name: "metadata of a missing session", test: func(t *T) {
		name := t.name()
		if err := t.P.SetMeta(t.Ctx, name, "k", "v"); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Errorf("set: %v", err)
		}
		if got, err := t.P.GetMeta(t.Ctx, name, "k"); got != "" || err != nil {
			t.Errorf("get: %q, %v", got, err)
		}
		t.must(t.P.RemoveMeta(t.Ctx, name, "k"))
	}},
	{name: "metadata of two sessions is separate", test: func(t *T) {
		a, b := t.idle(), t.idle()
		t.must(t.P.SetMeta(t.Ctx, a, "k", "of a"))
		if got, err := t.P.GetMeta(t.Ctx, b, "k"); got != "" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}},
	{name: "metadata is seen by another process", needs: []need{durable}, test: func(t *T) {
		name := t.idle()
		t.must(t.P.SetMeta(t.Ctx, name, "k", "v"))
		if got, err := t.Reopen(t.T).GetMeta(t.Ctx, name, "k"); got != "v" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	}},
}

var activityCases = []testCase{
	{name: "output moves the activity", needs: []need{programs, activity}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "mkfifo gate; echo up; read x < gate; echo more; exec cat"})
		t.shows(name, "up")
		before := t.activity(name)
		t.eventually("the pipe", func() error { return statFifo(dir) })
		t.must(writeFifo(t.Ctx, dir+"/gate"))
		t.moves(name, before)
	}},
	{name: "input moves the activity", needs: []need{keys, activity}, test: func(t *T) {
		name := t.sh("stty -echo; echo up; exec cat > /dev/null")
		before := t.settled(name)
		t.must(t.P.SendKeys(t.Ctx, name, "x"))
		t.moves(name, before)
	}},
	{name: "looking does not move the activity", needs: []need{programs, activity}, test: func(t *T) {
		name := t.sh("echo up; exec cat")
		t.shows(name, "up")
		before := t.settled(name)
		for range 3 {
			t.peek(name)
			t.running(name, true)
			t.must(t.P.SetMeta(t.Ctx, name, "k", "v"))
			if _, err := t.P.ProcessAlive(t.Ctx, name, []string{"cat"}); err != nil {
				t.Fatal(err)
			}
		}
		if after := t.activity(name); !after.Equal(before) {
			t.Fatalf("moved from %v to %v", before, after)
		}
	}},
	{name: "the activity is a recent time", needs: []need{programs, activity}, test: func(t *T) {
		begin := time.Now()
		name := t.sh("echo up; exec cat")
		t.shows(name, "up")
		at := t.activity(name)
		if at.Before(begin.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
			t.Fatalf("activity at %v, now %v", at, time.Now())
		}
	}},
	{name: "the activity of a missing session is zero", test: func(t *T) {
		if at, err := t.P.GetLastActivity(t.Ctx, t.name()); !at.IsZero() || err != nil {
			t.Fatalf("%v, %v", at, err)
		}
	}},
}

func (t *T) activity(name string) time.Time {
	t.Helper()
	at, err := t.P.GetLastActivity(t.Ctx, name)
	if err != nil {
		t.Fatalf("activity of %s: %v", name, err)
	}
	return at
}

// settled returns the activity once two readings some time apart agree.
func (t *T) settled(name string) time.Time {
	t.Helper()
	var at time.Time
	same := 0
	t.eventually("activity that settles", func() error {
		now := t.activity(name)
		if now.Equal(at) {
			same++
		} else {
			at, same = now, 0
		}
		if same < 20 {
			return errors.New("it still moves")
		}
		return nil
	})
	return at
}

func (t *T) moves(name string, before time.Time) {
	t.Helper()
	t.eventually("later activity", func() error {
		if now := t.activity(name); !now.After(before) {
			return fmt.Errorf("still %v", now)
		}
		return nil
	})
}
