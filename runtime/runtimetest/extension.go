package runtimetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
)

var extensionCases = []testCase{
	{name: "exec runs beside the agent in its box", needs: []need{programs, execs}, test: func(t *T) {
		x, ok := runtime.As[runtime.ExecProvider](t.P)
		if !ok {
			t.Fatal("Exec is declared but missing")
		}
		dir, err := filepath.EvalSymlinks(t.TempDir())
		t.must(err)
		name := t.start(runtime.Config{WorkDir: dir, Command: "exec cat", Env: map[string]string{"MARK": "in the box"}})
		out, code, err := x.Exec(t.Ctx, name, []string{"sh", "-c", "pwd -P; printf '%s' \"$MARK\"; echo noise >&2; exit 3"})
		if err != nil || code != 3 || string(out) != dir+"\nin the box" {
			t.Fatalf("%q, %d, %v", out, code, err)
		}
		if out, code, err = x.Exec(t.Ctx, name, []string{"printf", "%s", "$HOME *"}); err != nil || code != 0 || string(out) != "$HOME *" {
			t.Fatalf("without a shell: %q, %d, %v", out, code, err)
		}
		if _, _, err = x.Exec(t.Ctx, name, []string{"no-such-command"}); err == nil {
			t.Fatal("a missing command gave no error")
		}
		if _, _, err = x.Exec(t.Ctx, t.name(), []string{"true"}); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("missing session: %v", err)
		}
	}},
	{name: "exec ends with its context", needs: []need{programs, execs}, test: func(t *T) {
		x, _ := runtime.As[runtime.ExecProvider](t.P)
		name := t.idle()
		ctx, cancel := context.WithTimeout(t.Ctx, 100*time.Millisecond)
		defer cancel()
		begin := time.Now()
		_, _, err := x.Exec(ctx, name, []string{"sleep", "1000"})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
			t.Fatalf("%v after %v", err, time.Since(begin))
		}
	}},
	{name: "an immediate nudge is typed", needs: []need{keys}, test: func(t *T) {
		n := extension[runtime.ImmediateNudgeProvider](t)
		name := t.idle()
		if _, err := n.NudgeNow(t.Ctx, name, runtime.TextContent("right now")); err != nil {
			t.Fatal(err)
		}
		t.shows(name, "right now")
		if _, err := n.NudgeNow(t.Ctx, t.name(), runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("missing session: %v", err)
		}
	}},
	{name: "a nudge that interrupts is typed after the interrupt", needs: []need{programs, keys}, test: func(t *T) {
		extension[runtime.InterruptNudgeProvider](t)
		name := t.start(runtime.Config{Command: "trap 'echo interrupted' INT; echo ready; while :; do read -r x && echo \"got $x\"; done"})
		p := extensionOf[runtime.InterruptNudgeProvider](t, name)
		t.shows(name, "ready")
		r, err := p.NudgeInterrupt(t.Ctx, name, runtime.TextContent("another way"))
		if err != nil || r.State != runtime.Submitted || r.Interrupted != runtime.InterruptUnverified {
			t.Fatalf("%+v, %v", r, err)
		}
		t.shows(name, "got another way")
		if text := t.peek(name); !strings.Contains(text[:strings.Index(text, "another way")], "interrupted") {
			t.Errorf("no interrupt before the message:\n%s", text)
		}
		if _, err := p.NudgeInterrupt(t.Ctx, t.name(), runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("missing session: %v", err)
		}
	}},
	{name: "waiting for idle ends at a quiet prompt", needs: []need{programs, keys}, test: func(t *T) {
		w := extension[runtime.IdleWaitProvider](t)
		name := t.start(runtime.Config{ReadyPromptPrefix: "agent> ", Command: "printf 'agent> '; exec cat"})
		t.must(w.WaitForIdle(t.Ctx, name, effectLimit))
		busy := t.start(runtime.Config{ReadyPromptPrefix: "agent> ", Command: "printf 'agent> \\n'; while :; do echo work; sleep 0.1; done"})
		if err := w.WaitForIdle(t.Ctx, busy, 200*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("busy: %v", err)
		}
		if err := w.WaitForIdle(t.Ctx, t.name(), effectLimit); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("missing session: %v", err)
		}
	}},
	{name: "agents are found in the process table", needs: []need{programs, tree}, test: func(t *T) {
		s := extension[runtime.ProcessTableScanner](t)
		dir, name := t.TempDir(), t.name()
		// Unique on the machine: every process with this id is ended.
		own := name + "-" + rand.Text()
		t.startAs(name, runtime.Config{
			WorkDir: dir, Command: "echo $GC_SESSION_ID > id; exec cat",
			Env: map[string]string{"GC_CITY": "testville", "GC_CITY_PATH": dir, "GC_RUNTIME_EPOCH": "12", "GC_SESSION_ID": own},
		})
		id := t.file(filepath.Join(dir, "id"))
		if id != own {
			t.Fatalf("session id %q", id)
		}
		found := t.runtimes(s, id)
		if found[0].City != dir || found[0].Epoch != 12 || !found[0].Tracked || found[0].SessionID != id {
			t.Fatalf("%+v", found)
		}
		t.must(s.TerminateRuntime(t.Ctx, found[0]))
		t.ends(name)
		t.must(s.TerminateRuntime(t.Ctx, found[0]))
	}},
	{name: "an agent without a city is never ended", needs: []need{programs, tree}, test: func(t *T) {
		s := extension[runtime.ProcessTableScanner](t)
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "echo $GC_SESSION_ID > id; exec cat"})
		found := t.runtimes(s, t.file(filepath.Join(dir, "id")))
		if found[0].City != "" {
			t.Fatalf("%+v", found)
		}
		if err := s.TerminateRuntime(t.Ctx, found[0]); err == nil {
			t.Error("no error")
		}
		t.running(name, true)
	}},
	{name: "recordings of ended sessions can be removed", needs: []need{programs, keys}, test: func(t *T) {
		city := t.name()
		name := t.start(runtime.Config{Record: true, Command: "echo ready; read -r x"})
		k := extensionOf[runtime.RecordingKeeper](t, name)
		t.must(t.P.SetMeta(t.Ctx, name, "CITY", city))
		t.shows(name, "ready")
		one := func() (r runtime.Recording) {
			t.Helper()
			t.eventually("one recording is listed", func() error { // it may be written after the screen shows it
				list, err := k.Recordings(t.Ctx, "CITY", city)
				if err != nil {
					return err
				}
				if len(list) != 1 || list[0].Session != name || list[0].Bytes < int64(len("ready")) {
					return fmt.Errorf("%+v", list)
				}
				r = list[0]
				return nil
			})
			return r
		}
		if err := k.DropRecording(t.Ctx, one()); err == nil {
			t.Error("the recording of a running session was removed")
		}
		if list, err := k.Recordings(t.Ctx, "CITY", city+"-other"); err != nil || len(list) != 0 {
			t.Fatalf("of another city: %+v, %v", list, err)
		}
		t.must(t.P.SendKeys(t.Ctx, name, "Enter"))
		t.ends(name)
		r := one()
		if r.Running {
			t.Error("an ended session runs")
		}
		for range 2 {
			t.must(k.DropRecording(t.Ctx, r))
		}
		if list, err := k.Recordings(t.Ctx, "CITY", city); err != nil || len(list) != 0 {
			t.Fatalf("afterwards: %+v, %v", list, err)
		}
	}},
	{name: "relaunch needs a session", needs: []need{terminal}, test: func(t *T) {
		r := extension[runtime.RelaunchProvider](t)
		if err := r.Relaunch(t.Ctx, t.name(), runtime.Config{Command: "exec cat"}); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("relaunch: %v", err)
		}
		name := t.idle()
		t.must(t.P.SetMeta(t.Ctx, name, "k", "v"))
		t.must(r.Relaunch(t.Ctx, name, runtime.Config{Command: "exec cat"}))
		t.running(name, true)
		if v, err := t.P.GetMeta(t.Ctx, name, "k"); v != "v" || err != nil {
			t.Fatalf("metadata %q, %v", v, err)
		}
	}},
	{name: "relaunch starts another program in the same box", needs: []need{programs, relaunches}, test: func(t *T) {
		r, ok := runtime.As[runtime.RelaunchProvider](t.P)
		if !ok {
			t.Fatal("Relaunch is declared but missing")
		}
		dir := t.TempDir()
		name := t.start(runtime.Config{
			WorkDir: dir, Command: "echo $KEPT $KEY > first; exec cat", Cols: 90, Rows: 20,
			Env: map[string]string{"KEPT": "kept", "KEY": "old"}, PreStart: []string{"echo once >> prestart"},
		})
		t.file(filepath.Join(dir, "first"))
		t.must(r.Relaunch(t.Ctx, name, runtime.Config{
			WorkDir: dir, Command: "echo $KEPT $KEY $(stty size) > second; exec sleep 1000",
			Env: map[string]string{"KEPT": "kept", "KEY": "new"}, PreStart: []string{"echo twice >> prestart"},
		}))
		if got := t.file(filepath.Join(dir, "second")); got != "kept new 20 90" {
			t.Fatalf("%q", got)
		}
		t.alive(name, true, "sleep")
		t.alive(name, false, "cat")
		t.holds(filepath.Join(dir, "prestart"), "once\n")
	}},
	{name: "a simulated crash looks like a real one", needs: []need{simulated}, test: func(t *T) {
		name := t.idle()
		f, ok := runtime.As[interface{ Exit(string, int) }](t.P)
		if !ok {
			t.Fatal("a simulation without Exit")
		}
		f.Exit(name, 9)
		t.running(name, false)
	}},
}

// runtimes waits until exactly one agent with the id is found: during execve a
// process has no environment.
func (t *T) runtimes(s runtime.ProcessTableScanner, id string) []runtime.LiveRuntime {
	t.Helper()
	var found []runtime.LiveRuntime
	t.eventually("the agent in the process table", func() (err error) {
		found, err = s.FindRuntimesBySessionID(t.Ctx, id)
		if err == nil && len(found) != 1 {
			err = fmt.Errorf("found %+v", found)
		}
		return err
	})
	return found
}

var lossCases = []testCase{
	{name: "a backend that hangs is an error and never an answer", own: true, test: func(t *T) {
		name := t.idle()
		resume := t.Hang(t.T)
		ctx, cancel := context.WithTimeout(t.Ctx, 300*time.Millisecond)
		defer cancel()
		check := func(what string, err error) {
			if err == nil {
				t.Errorf("%s answered", what)
			}
			if runtime.IsSessionGone(err) {
				t.Errorf("%s says that the session is gone: %v", what, err)
			}
		}
		_, err := t.P.IsRunning(ctx, name)
		check("IsRunning", err)
		_, err = t.P.ListRunning(ctx, "")
		check("ListRunning", err)
		_, err = t.P.ProcessAlive(ctx, name, []string{"cat"})
		check("ProcessAlive", err)
		_, err = t.P.Peek(ctx, name, 0)
		check("Peek", err)
		_, err = t.P.GetMeta(ctx, name, "k")
		check("GetMeta", err)
		_, err = t.P.GetLastActivity(ctx, name)
		check("GetLastActivity", err)
		_, err = runtime.ObserveLiveness(ctx, t.P, name, nil)
		check("ObserveLiveness", err)
		check("Stop", t.P.Stop(ctx, name))
		resume()
		t.eventually("the answer after the hang", func() error {
			running, err := t.P.IsRunning(t.Ctx, name)
			if err == nil && !running {
				t.Fatal("the session is gone")
			}
			return err
		})
	}},
	{name: "a backend that was never started has no sessions", own: true, test: func(t *T) {
		t.running("anything", false)
		if got, err := t.P.ListRunning(t.Ctx, ""); len(got) > 0 || err != nil {
			t.Fatalf("listed %q, %v", got, err)
		}
		t.must(t.P.Stop(t.Ctx, "anything"))
		if _, err := t.P.Peek(t.Ctx, "anything", 0); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("peek: %v", err)
		}
	}},
	{name: "another process sees and ends the same sessions", needs: []need{durable}, test: func(t *T) {
		name := t.idle()
		other := t.Reopen(t.T)
		if ok, err := other.IsRunning(t.Ctx, name); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
		if err := other.Start(t.Ctx, name, runtime.Config{WorkDir: t.TempDir(), Command: "exec cat"}); !errors.Is(err, runtime.ErrSessionExists) {
			t.Fatalf("start: %v", err)
		}
		t.must(other.Stop(t.Ctx, name))
		t.running(name, false)
	}},
	{name: "the backend's server comes and goes", own: true, test: func(t *T) {
		s := extension[runtime.ServerLifecycleProvider](t)
		t.must(s.TeardownServer(t.Ctx))
		t.must(s.ConfigureServer(t.Ctx))
		t.must(s.ConfigureServer(t.Ctx))
		name := t.idle()
		t.must(s.TeardownServer(t.Ctx)) // does nothing while a session lives
		t.running(name, true)
		t.must(t.P.Stop(t.Ctx, name))
		t.must(s.TeardownServer(t.Ctx))
		t.running(name, false)
		t.running(t.idle(), true)
	}},
}
