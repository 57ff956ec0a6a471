//go:build e2e

package web

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// town is a real city: a controller, a multiplexer, agents that are shell scripts,
// and gc web in front of them.
type town struct {
	t       testing.TB
	gc, dir string
	first   string // the link of the newest gc web
	said    string // what it printed before
	address string
	unix    string // a socket instead
	cwd     string // where gc is run, if not in the city
	web     *exec.Cmd
}

const townConfig = `[workspace]
name = "town"
[[agents]]
name = "asks"
start_command = "sh ./asks.sh"
[[agents]]
name = "echo"
start_command = "sh -c 'PS1=\"$ \" exec sh -i'"
`

// asksScript is a menu as agents draw it: the arrows move, Enter selects.
const asksScript = `stty -icanon -echo
at=1
mark() { if [ "$1" = "$at" ]; then printf '❯ '; else printf '  '; fi; }
draw() {
	printf '\033[H\033[JRemove the folder?\r\n\r\n'
	printf '%s%s. %s\r\n' "$(mark 1)" 1 No "$(mark 2)" 2 'Yes, once' "$(mark 3)" 3 'Yes, always'
}
key() { dd bs=1 count=1 2>/dev/null; }
draw
while :; do
	k=$(key; printf x)
	case $k in
	*B*) [ $at = 3 ] || at=$((at + 1)); draw ;;
	*A*) [ $at = 1 ] || at=$((at - 1)); draw ;;
	"
x") break ;;
	esac
done
printf '\033[H\033[Jchose %s\n' $at
exec cat
`

// newTown starts the city.
func newTown(t testing.TB) *town {
	t.Helper()
	w := newPlace(t)
	for name, text := range map[string]string{"city.toml": townConfig, "asks.sh": asksScript} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	w.run("start")
	t.Cleanup(func() { w.run("stop") })
	w.serve()
	return w
}

// newPlace has a multiplexer and no city.
func newPlace(t testing.TB) *town {
	t.Helper()
	gc := os.Getenv("GC_E2E_BIN")
	if gc == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("GC_E2E_BIN is not set: make e2e-web")
		}
		t.Skip("GC_E2E_BIN is not set: make e2e-web")
	}
	dir, err := os.MkdirTemp("", "gcw")
	if err != nil {
		t.Fatal(err)
	}
	w := &town{t: t, gc: gc, dir: dir}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Cleanup(func() { w.run("mux", "stop", "--force") })
	return w
}

func (w *town) command(args ...string) *exec.Cmd {
	cmd := exec.Command(w.gc, args...)
	cmd.Dir = cmp.Or(w.cwd, w.dir)
	cmd.Env = []string{
		"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "GC_MUX_SOCKET=" + filepath.Join(w.dir, "s"), "GC_TRUST=1", "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh",
	}
	return cmd
}

func (w *town) run(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...).CombinedOutput()
	if err != nil {
		w.t.Fatalf("gc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// serve starts gc web and keeps its address over restarts.
func (w *town) serve(flags ...string) {
	w.t.Helper()
	listen := w.address
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	args := []string{"web", "--listen", listen}
	if w.unix != "" {
		args = []string{"web", "--unix", w.unix}
	}
	w.web = w.command(append(args, flags...)...)
	out, err := w.web.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	w.web.Stderr = os.Stderr
	if err := w.web.Start(); err != nil {
		w.t.Fatal(err)
	}
	web := w.web
	w.t.Cleanup(func() { web.Process.Signal(os.Interrupt); web.Wait() })
	w.said = ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		w.said += lines.Text() + "\n"
		if _, link, ok := strings.Cut(lines.Text(), "Open this link, once: "); ok {
			w.first = link
			_, host, _ := strings.Cut(link[:strings.Index(link, "/#")], "://")
			w.address = host
			go io.Copy(io.Discard, out)
			return
		}
	}
	w.t.Fatalf("gc web printed %q", w.said)
}

// TestRealCity answers, types and looks through the page, as a person does, and
// compares the page's terminal with gc peek.
func TestRealCity(t *testing.T) {
	w := newTown(t)
	p := open(t, w.first, phone)
	p.see("Remove the folder?")
	p.picture("real-phone")
	p.click(`[data-option="3"]`)
	p.click(`dialog button.main`)
	p.see("answered “Yes, always”")
	if out := w.run("peek", "asks"); !strings.Contains(out, "chose 3") {
		t.Errorf("the agent shows\n%s", out)
	}

	laptop := open(t, "http://"+w.address+"/#token="+w.link(), laptop)
	laptop.to("agent/echo")
	laptop.on("$")
	laptop.keys("n")
	laptop.wait(`document.activeElement.id === 'nudge-text'`)
	laptop.keys("echo from the page")
	laptop.press('\r', 2)
	laptop.on("\nfrom the page")
	laptop.keys("t")
	laptop.see("Release control")
	laptop.keys("seq 1 3\r")
	laptop.on("\n1\n2\n3\n")
	laptop.keys("printf '\\033[31mr\\303\\244d\\033[m \\346\\227\\245\\346\\234\\254 \\360\\237\\221\\251\\342\\200\\215\\360\\237\\222\\273 end\\n'\r")
	laptop.on("日本 👩‍💻 end")
	laptop.press('b', 2)
	laptop.keys("d")
	laptop.see("Take control")
	laptop.on("日本 👩‍💻 end") // painted again
	if page, peek := laptop.screen(), strings.TrimRight(w.run("peek", "echo"), "\n"); trimmed(page) != trimmed(peek) {
		t.Errorf("the page's terminal:\n%s\ngc peek:\n%s", page, peek)
	}
	w.kill(laptop)
}

// kill kills gc web and then the multiplexer's server under an open page.
func (w *town) kill(p *page) {
	w.t.Helper()
	w.web.Process.Kill()
	w.web.Wait()
	p.see("The server of this page is lost")
	w.serve()
	p.miss("The server of this page is lost")
	w.run("nudge", "echo", "echo after the loss")
	p.on("\nafter the loss")

	var status struct{ Server struct{ PID int } }
	if err := json.Unmarshal([]byte(w.run("mux", "status", "--json")), &status); err != nil || status.Server.PID == 0 {
		w.t.Fatal(status, err)
	}
	if err := syscall.Kill(status.Server.PID, syscall.SIGKILL); err != nil {
		w.t.Fatal(err)
	}
	w.run("nudge", "echo", "echo after the kill")
	p.on("\nafter the kill")
	w.run("mux", "upgrade")
	w.run("nudge", "echo", "echo after the upgrade")
	p.on("\nafter the upgrade")
}

func (w *town) link() string {
	w.t.Helper()
	_, token, ok := strings.Cut(w.run("web", "--link", "--listen", w.address), "#token=")
	if !ok {
		w.t.Fatal("gc web --link printed no token")
	}
	return strings.TrimSpace(token)
}

// trimmed is a text without blanks at the ends of its lines.
func trimmed(text string) string {
	var out bytes.Buffer
	for _, l := range strings.Split(text, "\n") {
		fmt.Fprintln(&out, strings.TrimRight(l, " "))
	}
	return strings.TrimSpace(out.String())
}

// TestSameTextAsPeek shows every recording of the emulator's tests in the page: its
// terminal has the text of gc peek.
func TestSameTextAsPeek(t *testing.T) {
	w := newPlace(t)
	files, err := filepath.Glob("../../vt/testdata/*/*.raw")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	var names []string
	for _, f := range files {
		path, err := filepath.Abs(f)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(f), ".raw"), "+", "p")
		names = append(names, name)
		w.run("session", "new", name, "--size", "100x30", "--", "sh", "-c", "stty -opost; cat '"+path+"'; printf '\033]0;shown\007'; exec sleep 100000")
	}
	w.serve()
	p := open(t, w.first, laptop)
	for _, name := range names {
		w.run("session", "wait", name, "--until", "title=^shown$", "--timeout", "20s")
		want := trimmed(w.run("session", "peek", name))
		p.to("agent/" + name)
		p.wait(fmt.Sprintf("window.gc.view.id === %q && window.gc.view.terminal.term.rows === 30", name))
		same := fmt.Sprintf(`%s.split('\n').map((l) => l.trimEnd()).join('\n').trim() === %s`, screen, quoted(want))
		if !p.within(5*time.Second, same) {
			t.Errorf("%s: the page's terminal:\n%s\ngc peek:\n%s", name, trimmed(p.screen()), want)
		}
	}
}

func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string
	}
	return string(data)
}

func TestTLSAndMetrics(t *testing.T) {
	w := newPlace(t)
	w.run("session", "new", "one", "--", "sh", "-c", "echo over TLS; exec sleep 100000")
	w.serve("--tls-self-signed", "--metrics")
	if !strings.HasPrefix(w.first, "https://") || !regexp.MustCompile(`([0-9A-F]{2}:){31}[0-9A-F]{2}`).MatchString(w.said) {
		t.Errorf("it printed %q and %q", w.said, w.first)
	}
	p := open(t, w.first, phone)
	p.to("agent/one")
	p.on("over TLS")
	if !eval[bool](p, `isSecureContext`) {
		t.Error("the page is not in a secure context")
	}
	text := eval[string](p, `fetch('/metrics').then((r) => r.text())`)
	if !strings.Contains(text, `gc_agents{state="running"`) || !strings.Contains(text, "gc_fleet_up 1") ||
		!regexp.MustCompile(`gc_mux_output_bytes_total [1-9]`).MatchString(text) || !strings.Contains(text, "gc_attached_terminals 1") ||
		!regexp.MustCompile(`gc_mux_waits [1-9]`).MatchString(text) || !regexp.MustCompile(`gc_mux_memory_bytes{process="server"} [1-9]`).MatchString(text) {
		t.Errorf("/metrics:\n%s", text)
	}
	for _, flags := range [][]string{{"--listen", "0.0.0.0:0"}, {"--tls-cert", "x"}, {"--unix", "s", "--listen", "127.0.0.1:0"}} {
		if out, err := w.command(append([]string{"web"}, flags...)...).CombinedOutput(); err == nil || !strings.HasPrefix(string(out), "gc: ") {
			t.Errorf("gc web %s: %v %s", flags, err, out)
		}
	}
}

func TestUnixSocket(t *testing.T) {
	w := newPlace(t)
	path := filepath.Join(w.dir, "web.sock")
	w.unix = path
	w.serve()
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatal(info, err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	for host, want := range map[string]int{"localhost:8642": http.StatusOK, "evil.example": http.StatusForbidden} {
		resp, err := client.Get("http://" + host + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", host, resp.StatusCode)
		}
	}
}
