//go:build e2e

package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/coder/websocket"

	"gascity.dev/gc/internal/fleet/fleetfake"
	"gascity.dev/gc/internal/screens"
)

// TestSleepingPage: a page that sleeps while an agent that it looks at and is attached to prints
// 32 MiB slows nothing, and gets what is newest when it wakes, not what it slept through.
func TestSleepingPage(t *testing.T) {
	w := newPlace(t)
	w.run("session", "new", "flood", "--size", "100x30", "--", "sh", "-c",
		"read go; head -c 32000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo the very end; exec cat")
	w.serve()
	ws := w.sleepingPage(t, `{"op":"look","looks":[{"id":"flood"}]}`, `{"op":"attach","n":1,"id":"flood","cols":100,"rows":30}`)
	w.run("session", "keys", "flood", "Enter")
	w.run("session", "wait", "flood", "--until", "text=^the very end", "--timeout", "60s")
	ws.SetReadLimit(64 << 20)
	got, cells, terminal := 0, false, false
	for !cells || !terminal {
		kind, data, err := ws.Read(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes, with cells %v, terminal %v: %v", got, cells, terminal, err)
		}
		got += len(data)
		if kind == websocket.MessageBinary {
			terminal = terminal || bytes.Contains(data, []byte("the very end"))
			ack := fmt.Sprintf(`{"op":"ack","n":1,"bytes":%d}`, len(data)-4)
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(ack)); err != nil {
				t.Fatal(err)
			}
		} else {
			cells = cells || bytes.Contains(data, []byte(`"op":"screen"`)) && bytes.Contains(data, []byte("the very end"))
		}
	}
	if got > 8<<20 {
		t.Errorf("it got %d bytes when it woke", got)
	}
}

// sleepingPage is the connection of a page that sends messages, and then sleeps.
func (w *town) sleepingPage(t testing.TB, messages ...string) *websocket.Conn {
	t.Helper()
	base := "http://" + w.address
	login, err := http.NewRequest("POST", base+"/login", strings.NewReader(fmt.Sprintf(`{"token":%q}`, w.link())))
	if err != nil {
		t.Fatal(err)
	}
	login.Header.Set("Origin", base)
	resp, err := http.DefaultClient.Do(login)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var in struct{ Secret string }
	if err := json.NewDecoder(resp.Body).Decode(&in); err != nil || in.Secret == "" {
		t.Fatal(resp.Status, err)
	}
	cookie, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	ws, _, err := websocket.Dial(t.Context(), "ws://"+w.address+"/live", &websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {cookie}, "Origin": {base}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.CloseNow() })
	for _, m := range append([]string{fmt.Sprintf(`{"secret":%q}`, in.Secret)}, messages...) {
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}

// counted is a fleet that knows how many viewers of its screens are open.
type counted struct {
	*fleetfake.Fleet
	open atomic.Int32
}

func (c *counted) Screens(ctx context.Context) (screens.Viewer, error) {
	v, err := c.Fleet.Screens(ctx)
	if err != nil {
		return nil, err
	}
	c.open.Add(1)
	return &countedViewer{v, sync.OnceFunc(func() { c.open.Add(-1) })}, nil
}

type countedViewer struct {
	screens.Viewer
	closed func()
}

func (v *countedViewer) Close() error {
	v.closed()
	return v.Viewer.Close()
}

// TestFrozenPage: a page that the browser freezes, as it does with the lid of a laptop closed, is
// given up when it has read nothing for as long as the server waits; when it wakes it connects
// again, and gets the newest screens instead of those that it slept through.
func TestFrozenPage(t *testing.T) {
	f := &counted{Fleet: team()}
	s := serve(t, f)
	s.stop()
	s.patience = 2 * time.Second
	s.start()
	p := open(t, s.link(false), wide)
	p.to("fleet")
	p.run(`window.gc.view.resize('large'); 0`)
	names := []string{"cart", "release", "checkout", "mobile", "prices", "styles"}
	revision := uint64(1000)
	show := func(last string) {
		revision++
		for i, name := range names {
			var b strings.Builder
			for y := range 100 {
				fmt.Fprintf(&b, "\x1b[%dH", y+1)
				for x := range 150 {
					fmt.Fprintf(&b, "\x1b[38;5;%dm%c", (revision+uint64(x*y+i))%256, 'a'+rune((revision+uint64(x))%26))
				}
			}
			f.Show(name, drawn(150, 100, revision, b.String()+"\x1b[0m\x1b[H"+last))
		}
	}
	show("awake")
	p.wait(fmt.Sprintf(`window.gc.view.screenOf('cart')?.update?.revision === %d`, revision))
	p.run(`window.updates = 0; window.connections = 0;
		window.gc.conn.addEventListener('screen', () => window.updates++); window.gc.conn.addEventListener('connected', () => window.connections++); 0`)
	p.lifecycle(cdppage.SetWebLifecycleStateStateFrozen)
	slept := 0
	for end := time.Now().Add(time.Minute); f.open.Load() > 0; slept++ {
		if time.Now().After(end) {
			t.Fatalf("the server still waits for the page after %d screens", slept)
		}
		show("asleep")
	}
	show("the newest")
	p.lifecycle(cdppage.SetWebLifecycleStateStateActive)
	p.wait(fmt.Sprintf(`window.gc.view.screenOf('cart')?.update?.revision === %d && window.connections === 1`, revision))
	if n := eval[int](p, `window.updates`); n > slept*len(names)/2 {
		t.Errorf("it got %d updates when it woke, of %d", n, slept*len(names))
	} else {
		t.Logf("it got %d updates when it woke, of %d", n, slept*len(names))
	}
}

// lifecycle freezes the page, or wakes it.
func (p *page) lifecycle(state cdppage.SetWebLifecycleStateState) {
	p.t.Helper()
	p.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, cdppage.SetWebLifecycleState, cdppage.SetWebLifecycleStateParams{State: state})
		return chromedp.Void{}, err
	})
}
