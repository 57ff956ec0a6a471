package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// TestForeignUser: a process of another user gets no answer, even if the socket's mode
// would let it in.
func TestForeignUser(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Missing(t, "only root can be somebody else")
	}
	t.Parallel()
	p := testPaths(t)
	c := startServerAt(t, p)
	if err := errors.Join(os.Chmod(filepath.Dir(p.Socket), 0o755), os.Chmod(p.Socket, 0o666)); err != nil {
		t.Fatal(err)
	}
	type answer struct {
		n   int
		err error
	}
	ask := func(uid int) answer {
		out := make(chan answer)
		go func() {
			goruntime.LockOSThread() // never unlocked: the thread ends with its uid
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); errno != 0 {
				out <- answer{0, errno}
				return
			}
			n, err := askRaw(p.Socket)
			out <- answer{n, err}
		}()
		return <-out
	}
	if a := ask(64003); a.n != 0 {
		t.Errorf("another user got %d bytes", a.n)
	} else if errors.Is(a.err, unix.EACCES) || errors.Is(a.err, unix.EPERM) {
		t.Errorf("the server was never reached: %v", a.err)
	}
	if a := ask(0); a.n == 0 || a.err != nil {
		t.Errorf("this user got %d bytes, %v", a.n, a.err)
	}
	if _, err := c.Status(t.Context()); err != nil {
		t.Error(err)
	}
}

// askRaw requests the status and returns the length of the answer.
func askRaw(socket string) (int, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return 0, err
	}
	if _, err := unix.Write(fd, []byte("GET /v1/status HTTP/1.1\r\nHost: mux\r\n\r\n")); err != nil {
		return 0, nil // disconnected
	}
	n, err := unix.Read(fd, make([]byte, 4096))
	if errors.Is(err, unix.ECONNRESET) {
		return 0, nil
	}
	return max(n, 0), err
}

// TestLargePasteFlows: what the program has not read waits with the writer, and arrives
// as it was sent.
func TestLargePasteFlows(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const size = 3 << 20
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(rand.IntN(256))
	}
	create(t, c, "p", fmt.Sprintf("stty raw -echo; echo ready; sleep 0.2; head -c %d | sha256sum", size))
	await(t, c, "p", "^ready")
	if err := c.Paste(t.Context(), "p", data); err != nil {
		t.Fatal(err)
	}
	await(t, c, "p", fmt.Sprintf("%x", sha256.Sum256(data)))
}

// TestClientsThatVanishLetGo: a client that vanishes during a blocked write
// releases the input to the next.
func TestClientsThatVanishLetGo(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := unix.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	create(t, c, "v", fmt.Sprintf("stty raw -echo; echo ready; read x <%s; exec cat >/dev/null", gate))
	await(t, c, "v", "^ready")
	for range 4 {
		ctx, vanish := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Paste(ctx, "v", make([]byte, 1<<20)) }()
		go func() { _, _ = c.Wait(ctx, "v", api.WaitRequest{Conditions: []api.Condition{{Text: "never"}}}) }()
		if i, err := c.Get(t.Context(), "v"); err != nil || i.State != api.StateRunning {
			t.Fatal(i, err)
		}
		vanish()
		if err := <-done; err == nil {
			t.Fatal("a program that does not read took a megabyte")
		}
	}
	f, err := os.OpenFile(gate, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Keys(ctx, "v", []string{"x"}, true); err != nil {
		t.Fatal(err)
	}
}

// TestOversizedRequests: oversized requests are refused, whatever length they
// claim.
func TestOversizedRequests(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "o", "exec cat")
	post := func(body io.Reader, length int64) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "POST", "http://mux/v1/sessions/o/paste", body)
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = length
		h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", c.Paths().Socket)
		}}}
		resp, err := h.Do(r)
		if err != nil {
			return 0 // disconnected while it was sending
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	big := func() io.Reader { return io.LimitReader(zeros{}, 2*endpoint.MaxRequest) }
	for name, length := range map[string]int64{"told": 2 * endpoint.MaxRequest, "not told": -1} {
		if code := post(big(), length); code != 0 && code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: status %d", name, code)
		}
	}
	deep, err := json.Marshal(strings.Repeat("[", 20_000))
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"{", `{"data":`, `{"data":"?"}`, `[]`, `"`, string(deep), strings.Repeat("[", 20_000)} {
		if code := post(strings.NewReader(body), int64(len(body))); code != http.StatusBadRequest {
			t.Errorf("%.20q: status %d", body, code)
		}
	}
	if got := screenText(t, c, "o"); got != "" {
		t.Errorf("something was typed: %q", got)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte{'0'}, len(p))), nil }

// TestHostileNames: bad names of sessions, keys and queues are refused in paths
// and bodies.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for _, name := range []string{"a/b", "../x", ".", "..", "a\nb", "a\x00b", "a\x1b[2Jb", "-rf", "ä", " ", "%2e%2e", "a\\b", strings.Repeat("x", 4096)} {
		if _, err := c.Create(t.Context(), api.CreateRequest{Name: name, Env: testEnv}); !errors.Is(err, api.ErrBadName) {
			t.Errorf("create %q: %v", name, err)
		}
		if _, err := c.Create(t.Context(), api.CreateRequest{Name: "ok", ID: name, Env: testEnv}); !errors.Is(err, api.ErrBadName) {
			t.Errorf("id %q: %v", name, err)
		}
		if _, err := c.Get(t.Context(), name); err == nil {
			t.Errorf("get %q: found", name)
		}
		if _, err := c.Enqueue(t.Context(), api.QueueRequest{Target: name, Text: "x"}); !errors.Is(err, api.ErrBadName) {
			t.Errorf("queue for %q: %v", name, err)
		}
	}
	if all, err := c.List(t.Context(), "", true); err != nil || len(all) != 0 {
		t.Fatal(all, err)
	}
}

// TestResizeStorm: many clients resize while a program paints; program and screen end
// with the last size.
func TestResizeStorm(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "r", `trap 'stty size' WINCH; while :; do printf 'painting some text \033[31mred\033[0m\r\n'; sleep 0.01; done`)
	await(t, c, "r", "painting")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 60 {
				cols, rows := 2+rand.IntN(400), 1+rand.IntN(200)
				if rand.IntN(10) == 0 {
					cols, rows = 2000, 2000
				}
				if err := c.Resize(t.Context(), "r", cols, rows); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, bad := range [][2]int{{0, 10}, {1, 10}, {10, 0}, {-5, 10}, {2001, 10}, {10, 1 << 30}} {
		if err := c.Resize(t.Context(), "r", bad[0], bad[1]); !errors.Is(err, api.ErrSize) {
			t.Errorf("%v: %v", bad, err)
		}
	}
	if err := c.Resize(t.Context(), "r", 91, 33); err != nil {
		t.Fatal(err)
	}
	await(t, c, "r", "^33 91$")
	i, err := c.Get(t.Context(), "r")
	if err != nil || i.Size != (api.Size{Cols: 91, Rows: 33}) || i.ScreenLost {
		t.Fatalf("%+v, %v", i, err)
	}
}

// TestEmptyNames: an empty name in a path is not found, and not redirected.
func TestEmptyNames(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	run := map[string]func() error{
		"get":           func() error { _, err := c.Get(t.Context(), ""); return err },
		"kill":          func() error { return c.Kill(t.Context(), "", 0) },
		"peek":          func() error { _, err := c.Peek(t.Context(), api.PeekRequest{}); return err },
		"keys":          func() error { return c.Keys(t.Context(), "", []string{"Enter"}, false) },
		"process":       func() error { _, err := c.Process(t.Context(), ""); return err },
		"process wait":  func() error { _, err := c.ProcessWait(t.Context(), "", "", 0); return err },
		"process log":   func() error { _, err := c.ProcessLog(t.Context(), "", api.LogRequest{}); return err },
		"process write": func() error { return c.ProcessWrite(t.Context(), "", api.WriteRequest{}) },
		"remove":        func() error { return c.ProcessRemove(t.Context(), "", true) },
	}
	for name, f := range run {
		if err := f(); !errors.Is(err, api.ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
