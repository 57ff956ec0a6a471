//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/store"
)

// TestStates: what every release left on the disk when everything was killed is read: the
// history, what waits for an agent, and what a person decided.
func TestStates(t *testing.T) {
	files, err := filepath.Glob("states/*.tar.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".tar.gz"), func(t *testing.T) { readState(t, file) })
	}
}

// openState unpacks a state; its multiplexer is that of the box.
func openState(t *testing.T, file string) *liveCity {
	t.Helper()
	b := newBox(t)
	dir, err := filepath.EvalSymlinks(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("tar", "-C", dir, "-xzf", file).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := os.Rename(filepath.Join(dir, "mux.d"), b.socket+".d"); err != nil {
		t.Fatal(err)
	}
	c := &liveCity{box: b, path: filepath.Join(dir, "city")}
	t.Cleanup(func() { c.run("--city", c.path, "stop") })
	return c
}

func readState(t *testing.T, file string) {
	c := openState(t, file)
	run := func(args ...string) string { return c.gc(append([]string{"--city", c.path}, args...)...) }
	has := func(pattern string, args ...string) {
		t.Helper()
		if out := run(args...); !regexp.MustCompile(pattern).MatchString(out) {
			t.Errorf("gc %s: no %q in\n%s", strings.Join(args, " "), pattern, out)
		}
	}
	has(`worker nudge \(submitted\), "a message that was typed"`, "events")
	has(`job crashed, exit status 3, one_shot`, "events")
	c.run("--city", c.path, "start") // one agent has failed
	c.becomes(map[string]cityapi.State{"worker": cityapi.StateRunning, "job": cityapi.StateCrashed, "off": cityapi.StateSuspended})
	has(`(?m)^1 +sent .* worker `, "mail", "list")
	has(`(?m)^2 +off +queued .*a message that waits`, "nudge", "list")
	has(`failed 5 .* gc-old-off +sh -c echo the result`, "process", "list")
	run("agent", "resume", "off")
	eventually(t, func() string { return run("peek", "off") }, func() bool {
		screen := run("peek", "off")
		return strings.Contains(screen, "got a message that waits") && strings.Contains(screen, "the result")
	})
}

// TestNewerStates: a state of a newer release is refused plainly, and not changed.
func TestNewerStates(t *testing.T) {
	for name, file := range map[string]func(c *liveCity) string{
		"city": func(c *liveCity) string { return filepath.Join(c.path, ".gc", "city.db") },
		"mux":  func(c *liveCity) string { return filepath.Join(c.socket+".d", "mux.db") },
	} {
		t.Run(name, func(t *testing.T) {
			c := openState(t, "states/0.1.0.tar.gz")
			raise(t, file(c), name)
			before := c.read(file(c))
			r := c.run("--city", c.path, "start")
			if r.code == 0 || !strings.Contains(r.err, "newer") {
				t.Errorf("%s", r)
			}
			if c.read(file(c)) != before {
				t.Error("the file was changed")
			}
		})
	}
}

// raise makes a database one of a later layout.
func raise(t *testing.T, path, schema string) {
	t.Helper()
	db, err := store.Open(path, store.Schema{Name: schema, Version: 99})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}
