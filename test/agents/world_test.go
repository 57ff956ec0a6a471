//go:build agents

package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	cityapi "gascity.dev/gc/internal/controller/api"
)

// name is the only agent in a test's city.
const name = "a"

// world is one agent's home, city and multiplexer.
type world struct {
	t    *testing.T
	home string
	city string
	env  []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	dir, err := os.MkdirTemp(root, "*")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, home: filepath.Join(dir, "home"), city: filepath.Join(dir, "home", "city")}
	w.env = []string{
		"PATH=" + filepath.Join(programs, "node_modules", ".bin") + ":" + filepath.Dir(gcBin) + ":/usr/local/bin:/usr/bin:/bin",
		"HOME=" + w.home, "SHELL=/bin/bash", "LANG=C.UTF-8", "TZ=UTC", "TERM=xterm-256color",
		"USER=agent", "LOGNAME=agent", "GC_MUX_SOCKET=" + filepath.Join(dir, "mux.sock"),
	}
	for _, x := range []string{"CONFIG", "CACHE", "DATA", "STATE"} {
		w.env = append(w.env, "XDG_"+x+"_HOME="+filepath.Join(w.home, "."+strings.ToLower(x)))
	}
	w.write("city/.keep", "")
	t.Cleanup(func() {
		w.run("--city", w.city, "stop")
		w.run("mux", "stop", "--force")
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return w
}

// write writes a file below the home.
func (w *world) write(path, content string) {
	w.t.Helper()
	full := filepath.Join(w.home, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// result is the result of a command.
type result struct {
	args     []string
	out, err string
	code     int
}

func (r result) String() string {
	return fmt.Sprintf("gc %s\nexit %d\nstdout: %s\nstderr: %s", strings.Join(r.args, " "), r.code, r.out, r.err)
}

// begin starts gc; the result arrives when it ends, or hangs.
func (w *world) begin(args ...string) <-chan result {
	const hangs = 3 * time.Minute
	done := make(chan result, 1)
	ctx, cancel := context.WithTimeout(context.Background(), hangs)
	cmd := exec.CommandContext(ctx, gcBin, args...)
	cmd.Env, cmd.Dir = w.env, w.home
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	go func() {
		defer cancel()
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			errs.WriteString(err.Error())
		}
		done <- result{args, out.String(), errs.String(), cmd.ProcessState.ExitCode()}
	}()
	return done
}

func (w *world) run(args ...string) result { return <-w.begin(args...) }

// on is run for a command on the city.
func (w *world) on(args ...string) result {
	return w.run(append([]string{"--city", w.city}, args...)...)
}

// gc is on for a command that must succeed; it returns its standard output.
func (w *world) gc(args ...string) string {
	w.t.Helper()
	r := w.on(args...)
	if r.code != 0 {
		w.t.Fatal(r)
	}
	return r.out
}

// status returns the agent's status from gc status.
func (w *world) status() cityapi.AgentStatus {
	w.t.Helper()
	var st cityapi.Status
	if err := json.Unmarshal([]byte(w.gc("status", "--json")), &st); err != nil {
		w.t.Fatal(err)
	}
	if len(st.Agents) != 1 {
		w.t.Fatalf("agents: %+v", st.Agents)
	}
	return st.Agents[0]
}

// question is the output of gc pending --json.
type question struct {
	RequestID string            `json:"request_id"`
	Kind      string            `json:"kind"`
	Prompt    string            `json:"prompt"`
	Options   []string          `json:"options"`
	Metadata  map[string]string `json:"metadata"`
}

func (q question) String() string {
	return fmt.Sprintf("%s (%s): %q %q", q.Kind, q.Metadata["dialog"], q.Prompt, q.Options)
}

// pending returns the agent's question, or the zero value.
func (w *world) pending() question {
	w.t.Helper()
	var q question
	r := w.on("pending", name, "--json")
	if err := json.Unmarshal([]byte(r.out), &q); err != nil || r.code > 1 {
		w.t.Fatal(r, err)
	}
	return q
}

// until polls until ok holds: for conditions without an event.
func (w *world) until(limit time.Duration, what string, ok func() bool) {
	w.t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !ok(); <-tick.C {
		if time.Now().After(end) {
			w.t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// dump logs the context of a failure.
func (w *world) dump(s *stub) { w.dumpOf(name, s) }

func (w *world) dumpOf(agent string, s *stub) {
	for _, args := range [][]string{{"peek", agent}, {"explain", agent}, {"status"}, {"nudge", "list"}, {"events", "--json"}} {
		r := w.on(args...)
		w.t.Logf("%s", r)
	}
	w.t.Logf("the model was asked:\n%s", s.tail())
}
