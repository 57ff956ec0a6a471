//go:build linux && k8s && e2e

package k8s_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// inPods returns the city.toml of a city with small pods, patrolled often.
func inPods(name, agents string) string {
	return fmt.Sprintf(`[workspace]
name = %q
[daemon]
patrol_interval = "2s"
max_restarts = 1
[session.k8s]
namespace = "strict"
image = "IMAGE"
kubeconfig = "KUBECONFIG"
requests = {cpu = "5m", memory = "8Mi"}
`, name) + agents
}

// town is a city whose agents are in pods, and one here.
var town = inPods("town", `
[[agents]]
name = "pod"
session = "k8s"
start_command = "echo I am $(hostname) $$; exec cat"
[[agents]]
name = "here"
start_command = "echo I am here; exec cat"
`)

// gcBin runs gc in a city.
type gcBin struct {
	path, dir string
	env       []string
}

func (g gcBin) run(args ...string) (string, error) {
	cmd := exec.Command("sh", append([]string{"-c", `umask 022; exec "$0" "$@"`, g.path}, args...)...)
	cmd.Dir, cmd.Env = g.dir, g.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("gc %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), err
}

func (g gcBin) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := g.run(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// until runs gc until its output has the text.
func (g gcBin) until(t *testing.T, text string, args ...string) string {
	t.Helper()
	var out string
	eventually(t, 90*time.Second, func() (err error) {
		if out, err = g.run(args...); err == nil && !strings.Contains(out, text) {
			err = fmt.Errorf("gc %s: no %q in %q", strings.Join(args, " "), text, out)
		}
		return err
	})
	return out
}

// binaries are gc with gc-k8s beside it.
func binaries(t *testing.T) string {
	t.Helper()
	if bin := os.Getenv("GC_E2E_BIN"); bin != "" {
		if _, err := os.Stat(filepath.Join(filepath.Dir(bin), "gc-k8s")); err == nil {
			return bin
		}
	}
	dir := t.TempDir()
	for name, tags := range map[string]string{"gc": "", "gc-k8s": "k8s"} {
		cmd := exec.Command("go", "build", "-tags", tags, "-o", filepath.Join(dir, name), "gascity.dev/gc/cmd/gc")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return filepath.Join(dir, "gc")
}

// newCity makes a city whose multiplexer and home are its own. With the test it is stopped,
// and leaves no process.
func (c *cluster) newCity(t *testing.T, config string) gcBin {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "city")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("IMAGE", boxImage, "KUBECONFIG", c.Kubeconfig).Replace(config)
	if err := os.WriteFile(filepath.Join(dir, "city.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("", "home") // short: a socket is in it
	if err != nil {
		t.Fatal(err)
	}
	g := gcBin{c.gc, dir, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "GC_TRUST=1", "GC_MUX_SOCKET=" + filepath.Join(home, "s")}}
	t.Cleanup(func() {
		if t.Failed() {
			for _, args := range [][]string{{"status"}, {"events"}} {
				out, err := g.run(args...)
				t.Log(args, out, err)
			}
		}
		if out, err := g.run("stop"); err != nil {
			t.Error(err, out)
		}
		if out, err := g.run("mux", "stop", "--force"); err != nil && !strings.Contains(out, "no server") {
			t.Error(err)
		}
		eventually(t, 20*time.Second, func() error { return unused(home) })
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	return g
}

// unused returns an error if a process of this machine was started with a home.
func unused(home string) error {
	files, err := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		environ, err := os.ReadFile(file)
		if err == nil && bytes.Contains(environ, []byte("HOME="+home+"\x00")) {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline")) // for the message
			return fmt.Errorf("process %s is left: %q", filepath.Base(filepath.Dir(file)), command)
		}
	}
	return err
}

// city: a controller hosts agents in pods beside others; one that is killed is followed by
// one that adopts what runs.
func (c *cluster) city(t *testing.T) {
	g := c.newCity(t, town)
	g.must(t, "start")
	first := g.until(t, "I am gc-", "peek", "pod")
	g.until(t, "I am here", "peek", "here")
	g.must(t, "nudge", "pod", "hello there")
	g.until(t, "hello there", "peek", "pod")
	t.Log(g.must(t, "status"))

	var status struct {
		Controller struct{ PID int }
	}
	if err := json.Unmarshal([]byte(g.must(t, "status", "--json")), &status); err != nil || status.Controller.PID == 0 {
		t.Fatal(err, status)
	}
	if err := syscall.Kill(status.Controller.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	g.until(t, "hello there", "peek", "pod") // without a controller
	g.must(t, "start")
	after := g.until(t, "hello there", "peek", "pod")
	if line, _, _ := strings.Cut(first, "\n"); !strings.HasPrefix(after, line) {
		t.Errorf("it was started again: %q, was %q", after, first)
	}
	if pods := c.pods(t); len(pods) != 1 {
		t.Errorf("pods: %q", pods)
	}
	g.must(t, "stop")
	eventually(t, time.Minute, func() error {
		if pods := c.pods(t); len(pods) > 0 {
			return fmt.Errorf("left: %q", pods)
		}
		return nil
	})
}

// pods returns the pods of the city town; those of other tests may still be ending.
func (c *cluster) pods(t *testing.T) []string {
	t.Helper()
	out, err := c.Kubectl(t.Context(), "-n", strict, "get", "pods", "-l", "app.kubernetes.io/managed-by=gc", "-o", "name").Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Fields(string(out)), func(name string) bool { return !strings.HasPrefix(name, "pod/gc-town-") })
}
