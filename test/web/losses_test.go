//go:build e2e

package web

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
)

func TestServerKilledAndBack(t *testing.T) {
	f := team()
	f.Attached = func(_ string, _ fleet.AttachOptions, conn io.ReadWriteCloser) {
		io.WriteString(conn, "painted")
		io.Copy(io.Discard, conn)
	}
	s := serve(t, f)
	p := open(t, s.link(false), laptop)
	p.to("agent/cart")
	p.on("painted")
	s.stop()
	p.see("The server of this page is lost")
	p.picture("lost-laptop")
	s.start()
	p.miss("The server of this page is lost")
	p.on("painted")
	p.to("")
	f.Set(fleet.Snapshot{Name: "another", Agents: []fleet.Agent{{ID: "x", Name: "x"}}})
	p.see("Nobody needs you.")
}

// A page that slept for an hour has a dead connection and does not know it.
func TestPageThatSleptCatchesUp(t *testing.T) {
	f := team()
	p := open(t, serve(t, f).link(false), laptop)
	p.see("rm -rf build")
	p.run(`(() => { const real = Date.now; Date.now = () => real() + 3600e3; window.dispatchEvent(new Event('pageshow')); })()`)
	p.wait(`window.gc.conn.up`)
	f.Set(fleet.Snapshot{Name: "later"})
	p.see("Nobody needs you.")
}

func TestFleetAwayIsSaid(t *testing.T) {
	var f fleetfake.Fleet
	f.Set(fleet.Snapshot{Name: "city", Lost: "connection refused", LostSince: time.Now().Add(-3 * time.Minute), Agents: []fleet.Agent{{ID: "a", Name: "a"}}})
	p := open(t, serve(t, &f).link(false), phone)
	p.see("The fleet is away: connection refused. What you see was last known 3m ago.")
}

func TestTwoBrowsersAtOnce(t *testing.T) {
	f := team()
	s := serve(t, f)
	one := open(t, s.link(false), laptop)
	two := open(t, s.link(true), phone)
	one.see("rm -rf build")
	two.see("read-only")
	two.see("rm -rf build")
	two.wait(`[...document.querySelectorAll('.option')].every((b) => b.disabled)`)
	two.to("agent/cart")
	two.see("Explain")
	two.miss("Take control")
	two.miss("Restart")
	one.keys("1", "\r")
	did(t, f, "answer release: Yes")
	f.Set(fleet.Snapshot{Name: "calm"})
	one.see("Nobody needs you.")
	two.keys("a")
	two.see("Nobody needs you.")
	if n, err := s.keys.Revoke(); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	one.see("This browser has no session.")
	two.see("This browser has no session.")
}

// Another server at the same address knows nothing of the page's session.
func TestServerThatForgotTheSession(t *testing.T) {
	s := serve(t, team())
	p := open(t, s.link(false), laptop)
	p.see("rm -rf build")
	s.stop()
	s.dir = t.TempDir()
	s.start()
	p.see("This browser has no session.")
}

func TestNotificationsWhileThePageIsHidden(t *testing.T) {
	f := team()
	s := serve(t, f)
	p := open(t, s.link(false), laptop)
	p.see("Notify me")
	p.do(func(ctx context.Context, target *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, target, browser.SetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: "notifications"}, Setting: browser.PermissionSettingGranted,
			Origin: "http://" + s.address, BrowserContextID: chromedp.FromContext(ctx).BrowserContextID,
		})
		return chromedp.Void{}, err
	})
	p.do(chromedp.Reload())
	p.see("rm -rf build")
	p.miss("Notify me")
	p.wait(`window.gc.state.attention.length === 3`)
	p.run(`navigator.serviceWorker.ready; navigator.serviceWorker.getRegistration('/app/').then(async (r) => { while (!r.active) await new Promise((f) => setTimeout(f, 20)); })`)
	p.run(`Object.defineProperty(document, 'hidden', { get: () => true })`)
	f.Set(fleet.Snapshot{Agents: []fleet.Agent{{ID: "a", Name: "ada"}}, Attention: []fleet.Attention{{ID: "new", Kind: "crashed", Agent: "a", Text: "exit <b>1</b>"}}})
	p.wait(`document.title.startsWith('(1)')`)
	shown := eval[string](p, `navigator.serviceWorker.getRegistration('/app/').then(async (r) => { let all = []; for (let i = 0; i < 100 && !all.length; i++) {
		all = await r.getNotifications(); await new Promise((f) => setTimeout(f, 20)); } return all.map((n) => n.title + '|' + n.body).join(); })`)
	if shown != "ada: crashed|exit <b>1</b>" {
		t.Errorf("notifications: %q", shown)
	}
}
