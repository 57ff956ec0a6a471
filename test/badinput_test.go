//go:build e2e

package e2e

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestCommandNotFound(t *testing.T) {
	b := newBox(t)
	for _, argv := range [][]string{{"no-such-command-e2e"}, {"no-such-command-e2e", "with", "arguments"}, {"./missing"}} {
		r := b.fails(1, append([]string{"session", "new", name, "--"}, argv...), "127")
		if !strings.Contains(r.err, "not found") && !strings.Contains(r.err, "No such file") {
			t.Errorf("the last screen is missing: %s", r)
		}
		if list := b.list("--all"); len(list) != 0 {
			t.Errorf("left behind: %+v", list)
		}
	}
	// Only the shell notices, and later: the session ends with 127.
	b.gc("session", "new", name, "--", "true && no-such-command-e2e")
	b.waits("exit")
	if e := b.session(name).Exit; e == nil || e.Code != 127 {
		t.Errorf("exit %+v", e)
	}
	if screen := b.screen(); !strings.Contains(screen, "not found") {
		t.Errorf("last screen: %q", screen)
	}
}

func TestDuplicateName(t *testing.T) {
	b := newBox(t)
	b.gc("session", "new", name, "--", "echo first; sleep 1000")
	before := b.session(name)
	b.fails(1, []string{"session", "new", name, "--", "echo second"}, name)
	if after := b.session(name); after != before {
		t.Errorf("the first became %+v", after)
	}
	b.gc("session", "kill", name)
	b.gc("session", "new", name, "--", "echo third; exit 0")
	b.waits("exit")
	// The name of an ended session is free, and its metadata is gone.
	b.gc("session", "meta", "set", name, "k", "v")
	b.gc("session", "new", name, "--", "sleep 1000")
	if got := strings.TrimSpace(b.gc("session", "meta", "get", name, "k")); got != "" {
		t.Errorf("metadata of the last one: %q", got)
	}
}

func TestStateDirIsUnusable(t *testing.T) {
	b := newBox(t)
	file := b.file("file", "in the way")
	for what, env := range map[string][]string{
		"state home is a file": {"GC_MUX_SOCKET=", "XDG_STATE_HOME=" + file},
		"socket below a file":  {"GC_MUX_SOCKET=" + filepath.Join(file, "mux.sock")},
		"no home":              {"GC_MUX_SOCKET=", "XDG_STATE_HOME=", "HOME=/proc/nowhere"},
	} {
		t.Run(what, func(t *testing.T) {
			c := *b
			c.t, c.env = t, append(append([]string{}, b.env...), env...)
			c.fails(1, []string{"session", "new", name, "--", "sleep 1000"})
			if got := b.read(file); got != "in the way" {
				t.Errorf("the file became %q", got)
			}
		})
	}
	if left := runningWithHome(b.home); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestDatabaseIsDamaged: sessions can still be created, and the file is set
// aside unchanged, not removed.
func TestDatabaseIsDamaged(t *testing.T) {
	b := newBash(t)
	b.gc("mux", "stop", "--force")
	db := filepath.Join(b.socket+".d", "mux.db")
	damaged := b.read(db)[:5000]
	b.file(filepath.Join("mux.sock.d", "mux.db"), damaged)
	b.gc("session", "new", name, "--", "sleep 1000")
	b.gc("session", "meta", "set", name, "k", "v")
	kept, err := filepath.Glob(db + ".corrupt-*")
	if err != nil || len(kept) != 1 || b.read(kept[0]) != damaged {
		t.Errorf("the damaged file became %v (%v)", kept, err)
	}
}

func TestWrongUse(t *testing.T) {
	b := newBash(t)
	cases := []struct {
		name string
		code int
		args []string
		says []string
	}{
		{"missing work dir", 1, []string{"session", "new", "y", "--cwd", "/no/such/dir", "--", "true"}, []string{"/no/such/dir"}},
		{"bad size", 2, []string{"session", "new", "y", "--size", "12", "--", "true"}, []string{"12"}},
		{"bad variable", 2, []string{"session", "new", "y", "--env", "NOVALUE", "--", "true"}, []string{"NOVALUE"}},
		{"unknown key", 2, []string{"session", "keys", name, "a", "Nosuch"}, []string{"Nosuch"}},
		{"bad detach keys", 2, []string{"session", "attach", name, "--detach-keys", "hyper-x"}, []string{"hyper-x"}},
		{"bad condition", 2, []string{"session", "wait", name, "--until", "soon"}, []string{"soon"}},
		{"bad expression", 2, []string{"session", "wait", name, "--until", "text=("}, nil},
		{"bad format", 2, []string{"session", "peek", name, "--format", "pdf"}, []string{"pdf"}},
		{"unknown command", 2, []string{"session", "pek", name}, []string{"pek"}},
		{"unknown flag", 2, []string{"session", "peek", name, "--loud"}, []string{"loud"}},
		{"no such session: peek", 3, []string{"session", "peek", "nobody"}, []string{"nobody"}},
		{"no such session: nudge", 3, []string{"session", "nudge", "nobody", "x"}, []string{"nobody"}},
		{"no such session: keys", 3, []string{"session", "keys", "nobody", "Enter"}, []string{"nobody"}},
		{"no such session: wait", 3, []string{"session", "wait", "nobody"}, []string{"nobody"}},
		{"no such session: kill", 3, []string{"session", "kill", "nobody"}, []string{"nobody"}},
		{"no such session: attach", 3, []string{"session", "attach", "nobody"}, []string{"nobody"}},
		{"no such session: meta", 3, []string{"session", "meta", "set", "nobody", "k", "v"}, []string{"nobody"}},
		{"timeout", 124, []string{"session", "wait", name, "--until", "text=never", "--timeout", "50ms"}, nil},
		{"live sessions", 1, []string{"mux", "stop"}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			in := *b
			in.t = t
			in.fails(c.code, c.args, c.says...)
		})
	}
	if r := b.run("session", "new", "-bad", "--", "true"); r.code != 2 {
		t.Errorf("bad name: %s", r)
	}
	b.env = append(b.env, "GC_SESSION=nonsense")
	if r := b.fails(2, []string{"session", "list"}, "nonsense"); !strings.Contains(r.err, "native") {
		t.Errorf("the valid ones are not listed: %s", r)
	}
	b.env = append(b.env, "GC_SESSION=")
	if got := b.screen(); got != "ready>" {
		t.Errorf("something was sent:\n%s", got)
	}
	if list := b.list("--all"); len(list) != 1 {
		t.Errorf("left behind: %+v", list)
	}
}
