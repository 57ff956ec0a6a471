package carry

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/spawn"
)

// here is a directory of this machine, with the files.
func here(t *testing.T, files map[string]string) Place {
	t.Helper()
	home := t.TempDir()
	p := Place{Run: spawn.Run, Dir: t.TempDir(), Env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + home, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
	}}
	for name, text := range files {
		p.write(t, name, text)
	}
	return p
}

func (p Place) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(p.Dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

// sh returns the output of a shell line in the directory.
func (p Place) sh(t *testing.T, line string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", line)
	cmd.Dir, cmd.Env = p.Dir, append(p.Env, "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return strings.TrimSpace(string(out))
}

// state is everything that a person sees of a work tree.
const state = `git status --porcelain; git log --oneline; git branch --show-current; git for-each-ref refs/gc; ls -A; cat *`

// repository is a work tree with a commit, and changes of every kind.
func repository(t *testing.T) Place {
	t.Helper()
	p := here(t, map[string]string{"kept": "1\n", "changed": "1\n", "deleted": "1\n", ".gitignore": "ignored\n"})
	p.sh(t, "git init -q -b work . && git add -A && git commit -qm one")
	p.write(t, "changed", "2\n")
	p.write(t, "new name", "x\n")
	p.write(t, "ignored", "big\n")
	p.write(t, ".gc/staged.json", "{}")
	p.sh(t, "rm deleted; chmod +x kept; echo '.gc/' >>.git/info/exclude")
	return p
}

func TestGit(t *testing.T) {
	from := repository(t)
	before := from.sh(t, state)
	for name, prepare := range map[string]string{
		"an empty directory": "true",
		"a clone":            "git clone -q -b work '" + from.Dir + "' .",
		"an older clone of another branch": "git clone -q -b work '" + from.Dir + "' . && git checkout -qb other && " +
			"git commit -q --allow-empty -m other",
	} {
		to := here(t, nil)
		to.sh(t, prepare)
		if err := Git(t.Context(), from, to); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		to.write(t, "ignored", "big\n")
		to.sh(t, "mkdir -p .gc; echo '.gc/' >>.git/info/exclude")
		if got := to.sh(t, state); got != before {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, before)
		}
		if mode := to.sh(t, "stat -c %a kept"); !strings.HasPrefix(mode, "7") {
			t.Errorf("%s: mode %s", name, mode)
		}
	}
	if after := from.sh(t, state); after != before {
		t.Errorf("the source is now\n%s\nwas\n%s", after, before)
	}
}

// TestGitConflicts: what exists only at the destination stays.
func TestGitConflicts(t *testing.T) {
	from := repository(t)
	for name, prepare := range map[string]string{
		"files":       "echo mine >file",
		"changes":     "git clone -q -b work '" + from.Dir + "' . && echo mine >kept",
		"a new file":  "git clone -q -b work '" + from.Dir + "' . && echo mine >mine",
		"own commits": "git clone -q -b work '" + from.Dir + "' . && echo mine >kept && git commit -qam mine",
	} {
		to := here(t, nil)
		to.sh(t, prepare)
		before := to.sh(t, "ls -A; cat *; git log --oneline 2>&1; git for-each-ref 2>&1 || true")
		if err := Git(t.Context(), from, to); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), to.Dir) {
			t.Errorf("%s: %v", name, err)
		}
		if after := to.sh(t, "ls -A; cat *; git log --oneline 2>&1; git for-each-ref 2>&1 || true"); after != before {
			t.Errorf("%s: now\n%s\nwas\n%s", name, after, before)
		}
	}
}

// TestNotGit: the reason is the source's, and nothing is made at the destination.
func TestNotGit(t *testing.T) {
	for name, c := range map[string]struct{ prepare, want string }{
		"no repository": {"true", "not a git repository"},
		"no commit":     {"git init -q .", "no commit yet"},
	} {
		from, to := here(t, nil), here(t, nil)
		from.sh(t, c.prepare)
		if err := Git(t.Context(), from, to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if left := to.sh(t, "ls -A"); left != "" {
			t.Errorf("%s: the destination has %s", name, left)
		}
	}
}

func TestTar(t *testing.T) {
	from := here(t, map[string]string{"a": "1\n", "d/é b": "2\n", ".hidden": "3\n", ".gc/staged.json": "{}"})
	from.sh(t, "ln -s a link; chmod 755 a")
	to := here(t, map[string]string{".gc/own": "x"})
	if err := Tar(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	const list = "find . -path ./.gc -prune -o -printf '%P %m %l\\n' | sort; cat a d/* .hidden"
	if got, want := to.sh(t, list), from.sh(t, list); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := to.sh(t, "ls .gc"); got != "own" {
		t.Errorf("its own directory has %s", got)
	}
	if err := Tar(t.Context(), from, to); !errors.Is(err, ErrConflict) {
		t.Errorf("into files: %v", err)
	}
}

// TestCut: a source that ends too early changes nothing.
func TestCut(t *testing.T) {
	from, to := repository(t), here(t, nil)
	run := from.Run
	from.Run = func(ctx context.Context, c spawn.Command) (int, error) {
		if out := c.Stdout; out != nil && c.Line != branchLine {
			c.Stdout = &limited{out, 100}
		}
		return run(ctx, c)
	}
	for name, f := range map[string]func(context.Context, Place, Place) error{"git": Git, "tar": Tar} {
		if err := f(t.Context(), from, to); !errors.Is(err, errIncomplete) {
			t.Errorf("%s: %v", name, err)
		}
		if left := to.sh(t, "ls -A"); left != "" {
			t.Errorf("%s: the destination has %s", name, left)
		}
	}
}

// limited takes n bytes and drops the rest.
type limited struct {
	out io.Writer
	n   int
}

func (l *limited) Write(p []byte) (int, error) {
	n, err := l.out.Write(p[:min(len(p), l.n)])
	l.n -= n
	return len(p), err
}
