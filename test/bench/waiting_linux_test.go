package bench

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	waitingClients = 1000
	waitingTmux    = 200 // each is a process
)

// waitForExit is one request, as small as a program would write it.
const waitForExit = `{"conditions":[{"exit":true}]}`

// BenchmarkWaitingClients: the server memory per client that is connected and
// waits for a session's end. For tmux that is a wait-for.
func BenchmarkWaitingClients(b *testing.B) {
	w := newWorld(b)
	w.needTmux()
	gate := filepath.Join(w.dir, "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w.session("x", "echo up; read x < "+gate+"; exit 7", "up")
		w.session("base", "echo up; exec sleep 1000", "up")
		server, _ := w.daemons()
		pid := w.tmuxPID()
		empty, emptyTmux := w.atRest(server), memoryOf(b, pid)
		conns, waits := w.waitRaw("x"), w.waitTmux(pid)
		full, fullTmux := w.atRest(server), memoryOf(b, pid)
		each := func(full, empty int64, n float64) float64 { return float64(full-empty) / n / 1e3 }
		// The program's own pages vary with recent activity.
		ours, theirs := each(full.own, empty.own, waitingClients), each(fullTmux.own, emptyTmux.own, waitingTmux)
		b.Logf("server without clients %v, with %d %v", empty, waitingClients, full)
		if err := os.WriteFile(gate, []byte("go\ngo\n"), 0o600); err != nil { // returns when a reader opens it
			b.Fatal(err)
		}
		for _, c := range conns {
			w.waited(c)
		}
		w.run(w.tmux, "-L", "bench", "wait-for", "-S", "never")
		for _, c := range waits {
			if err := c.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		judge(b, target{
			name: fmt.Sprintf("a client connected and waiting, of %d", waitingClients),
			gc:   fmt.Sprintf("%.1f kB (%.1f with pages of the program)", ours, each(full.pss, empty.pss, waitingClients)),
			tmux: fmt.Sprintf("%.1f kB", theirs), value: ours, unit: "kB", must: 30,
		})
		w.stop()
	}
}

// waitRaw opens the connections, and sends a request on each.
func (w *world) waitRaw(session string) (conns []net.Conn) {
	w.b.Helper()
	for range waitingClients {
		c, err := net.Dial("unix", w.paths().Socket)
		if err != nil {
			w.b.Fatal(err)
		}
		w.b.Cleanup(func() { _ = c.Close() })
		_, err = fmt.Fprintf(c, "POST /v1/sessions/%s/wait HTTP/1.1\r\nHost: mux\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
			session, len(waitForExit), waitForExit)
		if err != nil {
			w.b.Fatal(err)
		}
		conns = append(conns, c)
	}
	return conns
}

// waited reads the response, which only a client gets that waited until the
// session ended with 7.
func (w *world) waited(c net.Conn) {
	w.b.Helper()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		w.b.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		w.b.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || !strings.Contains(string(body), `"met":0`) || !strings.Contains(string(body), `"code":7`) {
		w.b.Fatalf("%s %s, %v", answer.Status, body, err)
	}
}

// waitTmux starts tmux clients that wait, and returns when the server, which
// has a descriptor for each, has them all.
func (w *world) waitTmux(server int) (waits []*exec.Cmd) {
	w.b.Helper()
	descriptors := func() int {
		held, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", server))
		if err != nil {
			w.b.Fatal(err)
		}
		return len(held)
	}
	before := descriptors()
	for range waitingTmux {
		c := w.command(w.tmux, "-L", "bench", "wait-for", "never")
		if err := c.Start(); err != nil {
			w.b.Fatal(err)
		}
		waits = append(waits, c)
	}
	w.until("all are connected", func() bool { return descriptors() >= before+waitingTmux })
	return waits
}
