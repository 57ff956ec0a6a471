package runtimetest

import (
	"fmt"
	"path/filepath"

	"gascity.dev/gc/runtime"
)

// alive waits until ProcessAlive answers want.
func (t *T) alive(name string, want bool, names ...string) {
	t.Helper()
	t.eventually(fmt.Sprintf("alive %q", names), func() error {
		got, err := t.P.ProcessAlive(t.Ctx, name, names)
		if err == nil && got != want {
			err = fmt.Errorf("ProcessAlive is %v, want %v", got, want)
		}
		return err
	})
}

var processCases = []testCase{
	{name: "no names are always alive", test: func(t *T) {
		name := t.idle()
		if ok, err := t.P.ProcessAlive(t.Ctx, name, nil); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}},
	{name: "nothing is alive in a missing session", test: func(t *T) {
		if ok, err := t.P.ProcessAlive(t.Ctx, t.name(), []string{"cat"}); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}},
	{name: "a process is known by its executable", needs: []need{programs, tree}, test: func(t *T) {
		name := t.sh("exec sleep 1000")
		t.alive(name, true, "nothing-like-it", "sleep")
		if ok, err := t.P.ProcessAlive(t.Ctx, name, []string{"nothing-like-it", "slee", "1000"}); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}},
	{name: "a process is known by the script it interprets", needs: []need{programs, tree}, test: func(t *T) {
		script := t.script("my-agent", "#!/bin/sh\nsleep 1000\nexit\n")
		t.alive(t.sh(script), true, "my-agent")
		t.alive(t.sh("exec sh "+script+" --flag"), true, "my-agent")
	}},
	{name: "a process is known by argv[0]", needs: []need{programs, tree}, test: func(t *T) {
		t.alive(t.sh("exec bash -c 'exec -a /opt/renamed sleep 1000'"), true, "renamed")
	}},
	{name: "a process deep in the tree counts", needs: []need{programs, tree}, test: func(t *T) {
		t.alive(t.sh("sh -c 'sh -c \"sleep 1000; :\"; :'; :"), true, "sleep")
	}},
	{name: "processes of other sessions do not count", needs: []need{programs, tree}, test: func(t *T) {
		other, name := t.sh("exec sleep 1000"), t.idle()
		t.alive(other, true, "sleep")
		t.alive(name, true, "cat")
		if ok, err := t.P.ProcessAlive(t.Ctx, name, []string{"sleep"}); ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}},
	{name: "a zombie process is not alive", needs: []need{programs, tree}, test: func(t *T) {
		dir := t.TempDir()
		// The child ends after its parent became a program that never waits for it.
		name := t.start(runtime.Config{WorkDir: dir, Command: "mkfifo gate; sh -c 'read x < gate; exit 0' mortal & exec bash -c 'exec -a parent sleep 1000'"})
		t.alive(name, true, "parent")
		t.alive(name, true, "sh")
		t.must(writeFifo(t.Ctx, filepath.Join(dir, "gate")))
		t.alive(name, false, "sh")
		t.running(name, true)
	}},
	{name: "a session whose agent is gone is a zombie", needs: []need{programs, tree}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "mkfifo gate; " + t.script("agent", "#!/bin/sh\nread x < gate\n") + "; exec cat"})
		names := []string{"agent"}
		t.alive(name, true, names...)
		if l, err := runtime.ObserveLiveness(t.Ctx, t.P, name, names); l != runtime.Alive || err != nil {
			t.Fatalf("%q, %v", l, err)
		}
		t.must(writeFifo(t.Ctx, filepath.Join(dir, "gate")))
		t.eventually("the zombie", func() error {
			l, err := runtime.ObserveLiveness(t.Ctx, t.P, name, names)
			if err == nil && l != runtime.Zombie {
				err = fmt.Errorf("liveness is %q", l)
			}
			return err
		})
		t.must(t.P.Stop(t.Ctx, name))
		if l, err := runtime.ObserveLiveness(t.Ctx, t.P, name, names); l != runtime.Gone || err != nil {
			t.Fatalf("%q, %v", l, err)
		}
	}},
}
