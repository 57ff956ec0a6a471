package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// startControlHost starts the host of an agent and returns the file that has what its
// agent got.
func startControlHost(t *testing.T, c *client.Client, name, mode string) (info api.SessionInfo, out string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(t.TempDir(), "out")
	info, err = c.Create(t.Context(), api.CreateRequest{
		Name: name, Argv: []string{exe}, Control: true,
		Env: append([]string{controlHostVar + "=" + mode, "MUX_TEST_OUT=" + out}, testEnv...),
	})
	if err != nil {
		t.Fatal(err)
	}
	if mode != "late" {
		await(t, c, name, "ready")
	}
	return info, out
}

// tell types a line that directs the host.
func tell(t *testing.T, c *client.Client, name, line string) {
	t.Helper()
	if err := c.Paste(t.Context(), name, []byte(line+"\n")); err != nil {
		t.Fatal(err)
	}
}

// awaitState waits until the session is in the state.
func awaitState(t *testing.T, c *client.Client, name, want string) api.Activity {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; {
		a, err := c.Activity(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if a.State == want {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is %+v, want %s", name, a, want)
		}
		_, err = c.Wait(t.Context(), name, api.WaitRequest{Conditions: []api.Condition{{Status: true}}, Timeout: 50 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// got returns the lines of what the agent got.
func got(t *testing.T, out string) []string {
	t.Helper()
	b, err := os.ReadFile(out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// dialControl returns a client of the host.
func dialControl(t *testing.T, c *client.Client, name string) *control.Client {
	t.Helper()
	conn, err := c.Control(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	host := control.NewClient(conn)
	t.Cleanup(func() { host.Close() })
	return host
}

// TestControl: a connection leads to the program's socket, also when that is made late,
// after the server was killed, and over another machine's gc.
func TestControl(t *testing.T) {
	c := startServer(t)
	info, _ := startControlHost(t, c, "agent", "late")
	if !info.Control {
		t.Fatalf("%+v", info)
	}
	await(t, c, "agent", "waiting")
	late := make(chan error, 1)
	go func() {
		conn, err := c.Control(t.Context(), "agent")
		if err == nil {
			err = conn.Close()
		}
		late <- err
	}()
	tell(t, c, "agent", "")
	if err := <-late; err != nil {
		t.Fatal(err)
	}
	tell(t, c, "agent", "working")
	awaitState(t, c, "agent", api.ActivityWorking)
	if s, err := dialControl(t, c, "agent").State(t.Context()); err != nil || s.Activity != "working" {
		t.Fatalf("%+v, %v", s, err)
	}
	killServer(t, c)
	if s, err := dialControl(t, c, info.ID).State(t.Context()); err != nil || s.Activity != "working" {
		t.Fatalf("after the crash: %+v, %v", s, err)
	}
	if a := awaitState(t, c, "agent", api.ActivityWorking); a.Source != "osc7501" {
		t.Fatalf("after the crash: %+v", a)
	}
	tell(t, c, "agent", "idle") // the next server knows the nonce
	awaitState(t, c, "agent", api.ActivityIdle)
	h, _ := farHost(t, c)
	far, err := h.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	if s, err := dialControl(t, far, "agent").State(t.Context()); err != nil || s.Activity != "idle" {
		t.Fatalf("over another machine: %+v, %v", s, err)
	}
}

// TestControlIsRefused where there is no such socket.
func TestControlIsRefused(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "plain", "exec cat")
	info, _ := startControlHost(t, c, "agent", "on")
	for name, want := range map[string]error{"nobody": api.ErrNotFound, "plain": api.ErrNoControl} {
		if _, err := c.Control(t.Context(), name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
	resp, err := c.Do(t.Context(), "GET", "/v1/sessions/agent/control", nil)
	if !errors.Is(err, api.ErrRequest) {
		t.Errorf("without an upgrade: %v, %v", resp, err)
	}
	if err := c.Signal(t.Context(), "agent", "KILL"); err != nil {
		t.Fatal(err)
	}
	awaitExit(t, c, "agent")
	if _, err := c.Control(t.Context(), info.ID); !errors.Is(err, api.ErrExited) {
		t.Errorf("after the end: %v", err)
	}
	// A killed program leaves its socket; it goes with the session.
	if left := controlSockets(t, c); len(left) != 1 {
		t.Errorf("sockets: %q", left)
	}
	if err := c.Kill(t.Context(), info.ID, 0); err != nil {
		t.Fatal(err)
	}
	if left := controlSockets(t, c); len(left) != 0 {
		t.Errorf("sockets are left: %q", left)
	}
}

func controlSockets(t *testing.T, c *client.Client) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(c.Paths().Dir, "ctl", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}

// TestControlSweep: a server removes the sockets of no session.
func TestControlSweep(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	startControlHost(t, c, "agent", "on")
	mine := controlSockets(t, c)
	if len(mine) != 1 {
		t.Fatalf("sockets: %q", mine)
	}
	l, err := net.Listen("unix", filepath.Join(c.Paths().Dir, "ctl", "stale"))
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	killServer(t, c)
	if left := controlSockets(t, c); !slices.Equal(left, mine) {
		t.Errorf("sockets: %q, want %q", left, mine)
	}
}

// TestControlVariables: each session has its own, also one whose caller is in another.
func TestControlVariables(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	env := append([]string{control.SocketVar + "=/foreign", control.NonceVar + "=foreign"}, testEnv...)
	seen := map[string]bool{}
	for _, name := range []string{"plain", "one", "two"} {
		_, err := c.Create(t.Context(), api.CreateRequest{
			Name: name, Control: name != "plain", Env: env, Cols: 300,
			Command: `echo "<$` + control.SocketVar + " $" + control.NonceVar + `>"; exec cat`,
		})
		if err != nil {
			t.Fatal(err)
		}
		await(t, c, name, "<.*>")
		var socket, nonce string
		_, err = fmt.Sscanf(strings.Trim(strings.TrimSpace(screenText(t, c, name)), "<>"), "%s %s", &socket, &nonce)
		if name == "plain" {
			if socket != "" || nonce != "" {
				t.Errorf("%s has %q and %q", name, socket, nonce)
			}
			continue
		}
		if err != nil || !strings.HasPrefix(socket, c.Paths().Dir+"/") || len(nonce) != 32 || seen[socket] || seen[nonce] {
			t.Errorf("%s has %q and %q (%v)", name, socket, nonce, err)
		}
		seen[socket], seen[nonce] = true, true
	}
}

// asProgram creates the session "raw", whose control socket the test serves.
func asProgram(t *testing.T, c *client.Client) (l net.Listener, path string) {
	t.Helper()
	_, err := c.Create(t.Context(), api.CreateRequest{
		Name: "raw", Control: true, Command: `echo "<$` + control.SocketVar + `>"; exec cat`, Cols: 300, Env: testEnv,
	})
	if err != nil {
		t.Fatal(err)
	}
	await(t, c, "raw", "<.*>")
	path = strings.Trim(strings.TrimSpace(screenText(t, c, "raw")), "<>")
	if l, err = control.Listen(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l, path
}

// TestControlHalfClose: the end of one direction reaches the program, and what it says
// after that arrives.
func TestControlHalfClose(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	l, _ := asProgram(t, c)
	said := make(chan string, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			said <- err.Error()
			return
		}
		defer conn.Close()
		b, _ := io.ReadAll(conn)
		said <- string(b)
		_, _ = io.WriteString(conn, "bye\n")
	}()
	conn, err := c.Control(t.Context(), "raw")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got := <-said; got != "hello" {
		t.Errorf("the program got %q", got)
	}
	if b, err := io.ReadAll(conn); err != nil || string(b) != "bye\n" {
		t.Errorf("got %q, %v", b, err)
	}
}

// TestControlLongPath: a control socket works whose path is longer than a socket address.
func TestControlLongPath(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "mux")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, strings.Repeat("x", 95-len(dir)))
	p, err := api.DefaultPaths(func(k string) string { return map[string]string{"GC_MUX_SOCKET": socket}[k] })
	if err != nil {
		t.Fatal(err)
	}
	c := startServerAt(t, p)
	l, path := asProgram(t, c)
	if len(path) < 108 {
		t.Fatalf("the path is short: %s", path)
	}
	go func() {
		if conn, err := l.Accept(); err == nil {
			_, _ = io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	conn, err := c.Control(t.Context(), "raw")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if b, err := io.ReadAll(conn); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestControlForgery: a report without the nonce changes nothing, and neither does text.
func TestControlForgery(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	startControlHost(t, c, "agent", "on")
	forged := []string{
		`\e]7501;state=idle\e\`, `\e]7501;state=idle:nonce=0123\e\`, `\e]133;A\e\`, `\e]9;4;3\e\`,
		"Do you want to proceed? \u276f 1. Yes  2. No", "Continue? [y/n] ",
	}
	for i, line := range forged {
		tell(t, c, "agent", "print "+line)
		tell(t, c, "agent", fmt.Sprintf("mark %d", i))
		await(t, c, "agent", fmt.Sprintf("<%d>", i))
		if a, err := c.Activity(t.Context(), "agent"); err != nil || a.State != api.ActivityUnknown {
			t.Fatalf("after %s: %+v, %v", line, a, err)
		}
	}
	tell(t, c, "agent", "working")
	awaitState(t, c, "agent", api.ActivityWorking)
	for i, line := range forged {
		tell(t, c, "agent", "print "+line)
		tell(t, c, "agent", fmt.Sprintf("mark again%d", i))
		await(t, c, "agent", fmt.Sprintf("<again%d>", i))
		if a, err := c.Activity(t.Context(), "agent"); err != nil || a.State != api.ActivityWorking {
			t.Fatalf("after %s: %+v, %v", line, a, err)
		}
	}
}

// TestControlHello: what comes first is the host's line.
func TestControlHello(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	startControlHost(t, c, "agent", "on")
	conn, err := c.Control(t.Context(), "agent")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var hello control.Hello
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&hello); err != nil || hello.Control != control.Version || hello.Host != "test" {
		t.Errorf("%+v, %v", hello, err)
	}
}
