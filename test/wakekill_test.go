//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// composer is an agent: input appears after "> ", Enter submits it unless it
// arrives in one burst with other keys, and each submitted message is a line in
// the file named by its argument.
const composer = `import os, sys, time, tty
tty.setraw(0)
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
say = lambda b: os.write(1, b)
say(b"\x1b[?2004hready\r\n> ")
text, last, paste = b"", 0, False
while data := os.read(0, 65536):
    now, i = time.monotonic(), 0
    while i < len(data):
        if data.startswith((b"\x1b[200~", b"\x1b[201~"), i):
            paste, last, i = data[i + 4] == 48, now, i + 6
            continue
        b, i = data[i:i + 1], i + 1
        if b == b"\r" and not paste and now - last > 0.12:
            os.write(out, repr(text).encode() + b"\n")
            text = b""
            say(b"\r\nok\r\n> ")
        elif b == b"\x15":
            text = b""
            say(b"\r\n> ")
        else:
            text, last = text + b.replace(b"\r", b"\n"), now
            say(b.replace(b"\r", b"\r\n").replace(b"\n", b"\r\n") if b in b"\r\n" else b)
`

// wakeCity is a city on tmux, so that its controller delivers the ends of
// commands, which run in the multiplexer, to its agents.
type wakeCity struct {
	*liveCity
	rnd        *rand.Rand
	client     *client.Client
	controller *exec.Cmd
	owners     map[string]string // session by agent
	kills      map[string]int
}

func newWakeCity(t *testing.T, agents int) *wakeCity {
	need(t, "tmux")
	python := need(t, "python3")
	toml := "[daemon]\npatrol_interval = \"1s\"\nshutdown_timeout = \"100ms\"\n"
	for i := range agents {
		toml += fmt.Sprintf("[[agents]]\nname = \"a%d\"\nstart_command = \"exec %s composer.py said.a%[1]d\"\n", i, python)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	w := &wakeCity{liveCity: newCity(t, toml), rnd: rand.New(rand.NewPCG(seed, 1)), owners: map[string]string{}, kills: map[string]int{}}
	w.put("composer.py", composer)
	w.env = append(w.env, "GC_SESSION=tmux")
	w.control()
	t.Cleanup(func() { // after this nothing is left for gc stop to end
		_ = w.controller.Process.Kill()
		_ = w.controller.Wait()
	})
	eventually(t, func() string { return fmt.Sprint(w.agents()) }, func() bool {
		for name, a := range w.agents() {
			if a.State == "running" {
				w.owners[name] = a.Session
			}
		}
		return len(w.owners) == agents
	})
	w.gc("exec", "--", "true") // start the multiplexer
	paths, err := api.DefaultPaths(func(k string) string { return map[string]string{"GC_MUX_SOCKET": w.socket}[k] })
	if err != nil {
		t.Fatal(err)
	}
	if w.client, err = client.Dial(t.Context(), paths); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.client.Close() })
	return w
}

// commands starts commands for every agent that end within a second.
func (w *wakeCity) commands(each int) (ids []string) {
	w.t.Helper()
	for _, owner := range w.owners {
		for range each {
			res, err := w.client.Exec(w.t.Context(), api.ExecRequest{
				Command: fmt.Sprintf("sleep 0.%d; echo done", w.rnd.IntN(10)), Background: true, Owner: owner, Env: w.env,
			})
			if err != nil {
				w.t.Fatal(err)
			}
			ids = append(ids, res.ID)
		}
	}
	return ids
}

// control starts a controller.
func (w *wakeCity) control() {
	w.t.Helper()
	w.controller = exec.Command(gcBin, "controller", "run", "--city", w.path)
	w.controller.Env, w.controller.Dir = w.env, "/"
	w.controller.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := w.controller.Start(); err != nil {
		w.t.Fatal(err)
	}
}

// kill kills the controller at some moment, sometimes the commands' server
// first, and starts another controller.
func (w *wakeCity) kill() {
	w.t.Helper()
	time.Sleep(time.Duration(w.rnd.Int64N(int64(5 * time.Second)))) // random on purpose
	if w.rnd.IntN(3) == 0 && syscall.Kill(w.status().Server.PID, syscall.SIGKILL) == nil {
		w.kills["server"]++
		time.Sleep(time.Duration(w.rnd.Int64N(int64(50 * time.Millisecond))))
	}
	_ = w.controller.Process.Kill()
	_ = w.controller.Wait()
	w.kills["controller"]++
	w.control()
}

// told waits until every end was reported.
func (w *wakeCity) told(ids []string) {
	w.t.Helper()
	state := map[string]string{}
	left := func() string {
		var all []string
		for _, id := range ids {
			if s := state[id]; s != string(process.Delivered) {
				all = append(all, id+" "+s)
			}
		}
		list, err := w.client.Deliveries(w.t.Context(), "", "")
		return fmt.Sprintf("not told: %v; %+v, %v", all, list, err)
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		open := 0
		for _, id := range ids {
			if state[id] != string(process.Delivered) {
				r, err := w.client.Process(w.t.Context(), id)
				if state[id] = r.Delivery; err != nil || r.Delivery != string(process.Delivered) {
					open++
				}
			}
		}
		if open == 0 {
			break
		}
		if time.Now().After(end) {
			w.t.Fatal(left())
		}
	}
}

// once counts each tag in the agents' messages.
func (w *wakeCity) once(ids []string) {
	w.t.Helper()
	var said strings.Builder
	files, err := filepath.Glob(filepath.Join(w.path, "said.*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range files {
		said.WriteString(w.read(f))
	}
	for _, id := range ids {
		if n := strings.Count(said.String(), process.Tag(id+"/exit")); n != 1 {
			w.t.Errorf("%s was reported %d times", id, n)
		}
	}
}

// TestControllerKilledWhileItNotifies: the controller, and sometimes the server,
// is killed at random while it reports the ends of commands to agents: each is
// reported exactly once. GC_SOAK_RUNS is the number of commands.
func TestControllerKilledWhileItNotifies(t *testing.T) {
	runs, agents, each := 12, 4, 3
	if n, err := strconv.Atoi(os.Getenv("GC_SOAK_RUNS")); err == nil {
		runs, agents, each = n, 12, 2
	}
	w := newWakeCity(t, agents)
	var all []string
	for len(all) < runs && !t.Failed() {
		ids := w.commands(each)
		for range 3 {
			w.kill()
		}
		w.told(ids)
		w.once(ids)
		all = append(all, ids...)
	}
	w.once(all) // and not again since
	t.Logf("%d commands, killed: %v", len(all), w.kills)
}
