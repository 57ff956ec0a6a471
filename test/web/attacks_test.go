//go:build e2e

package web

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
)

func TestLinkIsForOneBrowserAndLeavesNoTrace(t *testing.T) {
	s := serve(t, team())
	link := s.link(false)
	p := open(t, link, laptop)
	p.see("rm -rf build")
	if href := eval[string](p, `location.href + document.referrer + JSON.stringify(performance.getEntries().map((e) => e.name))`); strings.Contains(href, "token") {
		t.Errorf("the token is left in %s", href)
	}
	if cookies := eval[string](p, `document.cookie`); cookies != "" {
		t.Errorf("scripts can read the cookie %q", cookies)
	}
	other := open(t, link, phone)
	other.see("the token is wrong, was used before, or is too old")
	p.do(chromedp.Reload())
	p.see("rm -rf build")
}

// A tab of the same browser gets the second secret from the first; a browser that
// only has the cookie gets nothing.
func TestSecondTabAndLostSecret(t *testing.T) {
	s := serve(t, team())
	p := open(t, s.link(false), laptop)
	p.see("rm -rf build")
	ctx, cancel := chromedp.NewContext(p.ctx)
	defer cancel()
	tab := &page{t, ctx}
	tab.do(chromedp.Navigate("http://" + s.address + "/"))
	tab.see("rm -rf build")
	p.do(chromedp.Navigate("about:blank"))
	tab.run(`sessionStorage.clear(); location.reload()`)
	tab.see("This browser has no session.")
}

// evil is a page of another origin that tries what it can with the browser of
// somebody who is signed in.
const evil = `<!doctype html><title>evil</title><body><pre id="log"></pre><script>
const target = %q, log = [];
const tell = (s) => { log.push(s); document.getElementById('log').textContent = log.join('\n'); };
(async () => {
	for (const [method, path] of [['POST', '/login'], ['POST', '/logout'], ['GET', '/recording?id=cart'], ['GET', '/app/main.js']]) {
		await fetch(target + path, { method, credentials: 'include', mode: 'no-cors', body: method === 'POST' ? '{}' : undefined })
			.then((r) => tell('fetch ' + path + ' ' + r.type), () => tell('fetch ' + path + ' failed'));
		await fetch(target + path, { method, credentials: 'include' }).then(() => tell('READ ' + path), () => {});
	}
	await new Promise((done) => {
		const ws = new WebSocket(target.replace('http', 'ws') + '/live');
		ws.onopen = () => { tell('OPENED'); done(); };
		ws.onerror = () => { tell('websocket refused'); done(); };
	});
	const script = document.createElement('script');
	script.type = 'module';
	script.src = target + '/app/main.js';
	await new Promise((done) => { script.onload = () => { tell('LOADED'); done(); }; script.onerror = () => { tell('script refused'); done(); }; document.body.append(script); });
	const frame = document.createElement('iframe');
	frame.src = target + '/';
	await new Promise((done) => { frame.onload = done; document.body.append(frame); });
	tell(frame.contentWindow.length === 0 ? 'framed nothing' : 'FRAMED');
	tell('done');
})();
</script>`

func TestPageOfAnotherSite(t *testing.T) {
	f := team()
	s := serve(t, f)
	p := open(t, s.link(false), laptop)
	p.see("rm -rf build")
	attacker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, evil, "http://"+s.address)
	}))
	defer attacker.Close()
	for _, from := range []string{attacker.URL, strings.Replace(attacker.URL, "127.0.0.1", "localhost", 1)} {
		ctx, cancel := chromedp.NewContext(p.ctx) // the same profile: the cookie is there
		tab := &page{t, ctx}
		tab.do(chromedp.Navigate(from))
		tab.see("done")
		text := tab.text()
		for _, bad := range []string{"READ", "OPENED", "LOADED", "FRAMED"} {
			if strings.Contains(text, bad) {
				t.Errorf("from %s:\n%s", from, text)
			}
		}
		cancel()
	}
	p.do(chromedp.Reload())
	p.see("rm -rf build") // it was not signed out either
	if done := f.Done(); len(done) > 0 {
		t.Errorf("done: %q", done)
	}
}

// The browser resolves rebound.example to 127.0.0.1, as after DNS rebinding.
func TestReboundHost(t *testing.T) {
	s := serve(t, team())
	port := s.address[strings.LastIndex(s.address, ":"):]
	p := open(t, "http://rebound.example"+port+"/", laptop)
	p.see("this server is not")
}

const bidi = "safe\u202ecod.exe"

// An agent that does its worst: markup in every text, and on its terminal links to
// scripts, clipboard writes, titles and queries.
func TestHostileAgent(t *testing.T) {
	markup := `<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`
	var f fleetfake.Fleet
	f.Receipt = fleet.Receipt{State: "refused", Detail: markup}
	agent := fleet.Agent{
		ID: "bad/<b>", Name: markup + bidi, State: "running", Status: "blocked", Provider: markup, LastLine: markup, Error: markup, Host: markup, Source: markup,
		Question: &fleet.Question{Request: "1", Prompt: markup + "\u200b" + bidi, Context: markup, Options: []string{markup, bidi}}, Can: []fleet.Action{fleet.Stop},
	}
	f.Set(fleet.Snapshot{Name: markup, Warning: markup, Agents: []fleet.Agent{agent}, Attention: []fleet.Attention{{ID: markup, Kind: "question", Agent: agent.ID, Text: markup}}})
	output := "\x1b]0;" + markup + "\x07\x1b]8;;javascript:window.hacked=1\x1b\\click\x1b]8;;\x1b\\ " + markup +
		"\r\n\x1b]52;c;aGFja2Vk\x07\x1b[c\x1b[>c\x1b[6n\x1b]11;?\x07\x1b[5n\x1bP+q544e\x1b\\\x1b]7501;state=idle\x1b\\end of it"
	typed := make(chan string, 4)
	f.Attached = func(_ string, o fleet.AttachOptions, conn io.ReadWriteCloser) {
		io.WriteString(conn, output)
		data, _ := io.ReadAll(conn)
		typed <- string(data)
	}
	f.Show(agent.ID, drawn(100, 20, 1, output))
	f.Cast = `{"version":2,"width":80,"height":24}` + "\n"
	p := open(t, serve(t, &f).link(false), laptop)
	p.see("safe‹U+202E›cod.exe")
	p.see("‹U+200B›")
	p.see(markup)
	p.keys("f")
	p.wait(`document.querySelector('canvas.cells')?.width > 100`)
	p.keys("j", "\r")
	p.on("end of it")
	p.wait(`document.title.includes('<img')`) // as text
	p.run(`(() => { const box = document.querySelector('.xterm-screen'); const r = box.getBoundingClientRect();
		for (const type of ['mousemove', 'mousedown', 'mouseup', 'click']) box.dispatchEvent(new MouseEvent(type, { bubbles: true, clientX: r.left + 12, clientY: r.top + 8 })); })()`)
	p.click(`#nudge`)
	p.keys("x")
	p.click(`dialog button.main`)
	p.see("refused")
	p.to("")
	select {
	case got := <-typed:
		if got != "" {
			t.Errorf("looking at the agent typed %q", got)
		}
	case <-time.After(10 * time.Second):
		t.Error("the terminal was not closed")
	}
	if eval[bool](p, `'hacked' in window || document.querySelector('main img, main script, header img, header script, #receipts img') !== null`) {
		t.Error("a text of the agent became markup")
	}
}

// The browser itself refuses markup from text and scripts from elsewhere.
func TestBrowserEnforcesThePolicy(t *testing.T) {
	p := open(t, serve(t, team()).link(false), laptop)
	p.see("rm -rf build")
	for _, attempt := range []string{
		`(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done'; } catch (e) { return e.name; } })()`,
		`(() => { const s = document.createElement('script'); try { s.src = 'data:text/javascript,window.hacked=1'; document.body.append(s); return 'done'; } catch (e) { return e.name; } })()`,
	} {
		if got := eval[string](p, attempt); got != "TypeError" {
			t.Errorf("%s: %s", attempt, got)
		}
	}
	if got := eval[string](p, `fetch('http://203.0.113.1/').then(() => 'done', (e) => e.name)`); got != "TypeError" {
		t.Errorf("a request elsewhere: %s", got)
	}
}
