//go:build e2e

package web

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/web"
	"gascity.dev/gc/internal/web/access"
)

// chromium is the one browser process of the tests; each test has its own
// profile in it, as a person has on another device.
var chromium context.Context

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("CI") != "" {
			fmt.Fprintln(os.Stderr, "chromium is not installed")
			return 1
		}
		fmt.Fprintln(os.Stderr, "chromium is not installed: no test is run")
		return 0
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("enable-unsafe-swiftshader", true), chromedp.Flag("ignore-certificate-errors", true),
		chromedp.Flag("host-resolver-rules", "MAP rebound.example 127.0.0.1"))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	var stop context.CancelFunc
	chromium, stop = chromedp.NewContext(allocator)
	defer stop()
	if err := chromedp.Do(chromium); err != nil {
		fmt.Fprintln(os.Stderr, "chromium:", err)
		return 1
	}
	return m.Run()
}

// served is a server of a fleet at an address that stays.
type served struct {
	t        testing.TB
	fleet    fleet.Fleet
	dir      string
	address  string
	keys     *access.Keys
	gate     access.Gate
	patience time.Duration // with a page that reads nothing
	stop     func()
}

func serve(t testing.TB, f fleet.Fleet) *served {
	t.Helper()
	s := &served{t: t, fleet: f, dir: t.TempDir(), address: "127.0.0.1:0"}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// start starts the server, again after stop.
func (s *served) start() {
	s.t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = l.Addr().String()
	if s.keys, err = access.Open(s.dir, "test"); err != nil {
		s.t.Fatal(err)
	}
	server := &web.Server{Fleet: s.fleet, Version: "test", Gate: &access.Gate{Keys: s.keys, ReadOnly: s.gate.ReadOnly}, Patience: s.patience}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l) }()
	s.stop = func() {
		cancel()
		if err := <-done; err != nil {
			s.t.Error(err)
		}
		s.stop = func() {}
	}
}

func (s *served) link(readOnly bool) string {
	s.t.Helper()
	token, err := s.keys.NewToken(readOnly)
	if err != nil {
		s.t.Fatal(err)
	}
	return "http://" + s.address + "/#token=" + token
}

// page is a browser window with a profile of its own.
type page struct {
	t   testing.TB
	ctx context.Context
}

type size struct {
	name          string
	width, height int64
	scale         float64
	phone         bool
}

var (
	phone  = size{"phone", 390, 844, 2, true}
	laptop = size{"laptop", 1280, 800, 1, false}
	wide   = size{"wide", 1920, 1080, 1, false}
)

// open opens a window at a URL. An error in the page's console fails the test.
func open(t testing.TB, url string, s size) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 60*time.Second)
	t.Cleanup(cancel)
	p := &page{t, ctx}
	p.do(chromedp.EmulateViewport(s.width, s.height, chromedp.EmulateScale(s.scale)))
	err := chromedp.Listen(ctx, func(e any) {
		if e, ok := e.(*cdpruntime.EventExceptionThrown); ok {
			t.Errorf("the page failed: %+v", e.ExceptionDetails)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(url))
	return p
}

func (p *page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatalf("%v\nthe page shows:\n%s", err, p.text())
	}
}

// text is what the page shows; "" if that cannot be told.
func (p *page) text() string {
	text, _ := chromedp.Run(p.ctx, chromedp.Evaluate[string](`document.body.innerText`)) // for a message
	return text
}

// wait waits until an expression is true, also over a navigation.
func (p *page) wait(expression string) {
	p.t.Helper()
	if !p.within(20*time.Second, expression) {
		p.t.Fatalf("waiting for %s\nthe page shows:\n%s", expression, p.text())
	}
}

// within reports whether an expression becomes true.
func (p *page) within(limit time.Duration, expression string) bool {
	ctx, cancel := context.WithTimeout(p.ctx, limit)
	defer cancel()
	loop := fmt.Sprintf(`new Promise((done) => { const look = () => {
		let ok = false;
		try { ok = Boolean(%s); } catch {}
		if (ok) done(true); else setTimeout(look, 20);
	}; look(); })`, expression)
	for {
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool](loop, chromedp.EvalAwaitPromise)); err == nil {
			return true
		} else if ctx.Err() != nil {
			return false
		}
	}
}

// see waits for a text on the page.
func (p *page) see(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

func (p *page) miss(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("!document.body.innerText.includes(%q)", text))
}

func eval[T any](p *page, expression string) T {
	p.t.Helper()
	value, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// run evaluates an expression for its effect.
func (p *page) run(expression string) { eval[chromedp.Void](p, expression) }

// keys presses keys, as a person does: a key that the page takes types nothing.
func (p *page) keys(keys ...string) {
	p.t.Helper()
	for _, r := range strings.Join(keys, "") {
		p.press(r, 0)
	}
}

// press presses one key with modifiers.
func (p *page) press(r rune, modifiers chromedp.Modifier) {
	p.t.Helper()
	p.do(func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for _, e := range kb.Encode(r) {
			e.Modifiers = int64(modifiers)
			switch {
			case e.Type == input.DispatchKeyEventTypeChar:
				continue
			case e.Type != input.DispatchKeyEventTypeKeyUp && modifiers == 0:
				e.Type, e.Text = input.DispatchKeyEventTypeKeyDown, e.Key
				if len(e.Key) > 1 && e.Key != "Enter" {
					e.Text = ""
				} else if e.Key == "Enter" {
					e.Text = "\r"
				}
			}
			if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
				return chromedp.Void{}, err
			}
		}
		return chromedp.Void{}, nil
	})
}

// to opens a page of the page, once it knows the fleet.
func (p *page) to(hash string) {
	p.t.Helper()
	p.wait("window.gc.state.known")
	p.run("location.hash = '#/" + hash + "'")
}

func (p *page) click(selector string) {
	p.t.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector)))
}

// screen is the text of the page's terminal.
const screen = `(() => { const b = window.gc?.view?.terminal?.term?.buffer?.active; if (!b) return '';
	return Array.from({length: window.gc.view.terminal.term.rows}, (_, y) => b.getLine(b.viewportY + y)?.translateToString(true) ?? '').join('\n').trimEnd(); })()`

func (p *page) screen() string {
	p.t.Helper()
	return eval[string](p, screen)
}

// on waits for a text on the page's terminal.
func (p *page) on(text string) {
	p.t.Helper()
	p.wait(fmt.Sprintf("%s.includes(%q)", strings.ReplaceAll(screen, "\n\t", " "), text))
}
