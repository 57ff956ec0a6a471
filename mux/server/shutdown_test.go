package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/internal/persontest"
)

// TestUpgradeDuringAKill: a kill with a long grace does not delay an upgrade, and the
// next server finishes it.
func TestUpgradeDuringAKill(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const stubborn = `trap 'echo asked' TERM; trap '' HUP; echo ready; while :; do sleep 1000 & wait; done`
	create(t, c, "hour", stubborn)
	short := create(t, c, "short", stubborn)
	left := create(t, c, "left", stubborn)
	p := run(t, c, api.ExecRequest{Command: stubborn, PTY: true, Background: true, Timeout: api.NoTimeout})
	await(t, c, "hour", "^ready")
	await(t, c, "short", "^ready")
	await(t, c, "left", "^ready")
	await(t, c, p.ID, "^ready")
	killed := make(chan error, 3)
	go func() { killed <- c.Kill(t.Context(), "hour", time.Hour) }()
	go func() { killed <- c.Kill(t.Context(), "short", 4*time.Second) }()
	cut := make(chan error, 1)
	go func() { // not requested again
		_, err := c.Do(t.Context(), "DELETE", "/v1/sessions/left?grace=4s", nil)
		cut <- err
	}()
	go func() { _, err := c.ProcessKill(t.Context(), p.ID, "", time.Hour); killed <- err }()
	await(t, c, "hour", "^asked")
	await(t, c, "short", "^asked")
	await(t, c, "left", "^asked")
	await(t, c, p.ID, "^asked")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upgrade(t.Context(), exe, "newer"); err != nil {
		t.Fatal(err)
	}
	if err := <-cut; !errors.Is(err, api.ErrLeaving) {
		t.Errorf("a kill that was cut short: %v", err)
	}
	if err := <-killed; err != nil {
		t.Errorf("the short kill: %v", err)
	}
	awaitNone(t, c, "short") // the server's own kill may still be collecting it
	noneIsLeft(t, short)
	awaitNone(t, c, "left")
	noneIsLeft(t, left)
	for _, name := range []string{"hour", p.ID} {
		if err := c.Kill(t.Context(), name, 0); err != nil { // also ends those that are under way
			t.Error(err)
		}
		if err := <-killed; err != nil {
			t.Errorf("a long kill: %v", err)
		}
	}
}

// awaitNone waits until a session no longer exists.
func awaitNone(t *testing.T, c *client.Client, name string) {
	t.Helper()
	for deadline := time.Now().Add(persontest.Patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := c.Get(t.Context(), name); errors.Is(err, api.ErrNotFound) {
			return
		}
	}
	t.Fatalf("%s is still there", name)
}

// TestShutdownDuringCreates: no session being created outlives the server.
func TestShutdownDuringCreates(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	mark := fmt.Sprintf("9%d", os.Getpid())
	var creators sync.WaitGroup
	begun := make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	for w := range 8 {
		creators.Go(func() {
			for i := 0; ; i++ {
				r := api.CreateRequest{Name: fmt.Sprintf("s%d-%d", w, i), Command: "trap '' HUP; exec sleep " + mark, Env: testEnv}
				if _, err := c.Create(t.Context(), r); err != nil {
					return
				}
				once()
			}
		})
	}
	<-begun
	if err := c.Shutdown(t.Context(), true); err != nil {
		t.Error(err)
	}
	creators.Wait()
	table, err := proctree.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range table {
		if argv, err := proctree.Cmdline(p.PID); err == nil && len(argv) == 2 && argv[1] == mark && p.Alive() {
			t.Errorf("%d (%s) outlived the server", p.PID, strings.Join(argv, " "))
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
}

// TestLastReplyIsWhole: the client has the whole reply before the handler returns, after
// which the server may not live long.
func TestLastReplyIsWhole(t *testing.T) {
	read := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lastReply(w)
		select {
		case <-read:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(read)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); err != nil || string(b) != "{}" {
		t.Errorf("%q, %v", b, err)
	}
}

// TestEndKeepsTheSession: its last screen and its exit can be read afterwards, also if the
// server was replaced meanwhile.
func TestEndKeepsTheSession(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	s := create(t, c, "s", `trap 'echo "asked$again"; again=" again"' TERM; trap '' HUP; echo ready; while read y; [ "$y" != go ]; do :; done; echo bye; exit 3`)
	await(t, c, "s", "^ready")
	ended := make(chan error, 1)
	go func() { ended <- c.End(t.Context(), "s", time.Hour) }()
	await(t, c, "s", "^asked")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Upgrade(t.Context(), exe, "newer"); err != nil {
		t.Fatal(err)
	}
	await(t, c, "s", "^asked again") // by the next server, which then knows why the session ends
	if err := c.Keys(t.Context(), "s", []string{"g", "o", "Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	got, err := c.Peek(t.Context(), api.PeekRequest{Name: "s"})
	if err != nil || !strings.HasSuffix(strings.TrimSpace(got.Text), "bye") {
		t.Errorf("it shows %q, %v", got.Text, err)
	}
	if got.Exit == nil || got.Exit.Code != 3 || got.Exit.Reason != api.ReasonStopped {
		t.Errorf("exit %+v", got.Exit)
	}
	noneIsLeft(t, s)
	if err := c.End(t.Context(), "s", 0); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := c.Kill(t.Context(), "s", 0); err != nil {
		t.Fatal(err)
	}
	awaitNone(t, c, "s")
}
