//go:build e2e

package web

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/fleetfake"
)

// did waits until something was done to the fleet.
func did(t *testing.T, f *fleetfake.Fleet, want string) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !slices.Contains(f.Done(), want) {
		if time.Now().After(deadline) {
			t.Fatalf("not done: %q; done: %q", want, f.Done())
		}
		time.Sleep(5 * time.Millisecond) // until it is observed
	}
}

// TestKeyboardOnly uses every page without a mouse.
func TestKeyboardOnly(t *testing.T) {
	f := team()
	f.Attached = func(_ string, _ fleet.AttachOptions, conn io.ReadWriteCloser) { io.Copy(conn, conn) }
	f.Explained = fleet.Explanation{Facts: []fleet.Fact{{Name: "state", Text: "running since noon"}}}
	p := open(t, serve(t, f).link(false), laptop)
	p.see("Do you want to proceed?")

	p.keys("2") // the only question; its second option
	p.see("Answer “Yes, and don't ask again” to release?")
	p.keys(kb.Escape)
	p.wait(`!document.querySelector('dialog')`)
	p.keys("2", kb.Enter)
	did(t, f, "answer release: Yes, and don't ask again")

	p.keys("f")
	p.see("checkout")
	p.keys("/")
	p.keys("checkout", kb.Escape)
	p.see("1 of 11 agents")
	p.keys("j", kb.Enter)
	p.wait(`location.hash === '#/agent/checkout'`)
	p.keys("n")
	p.wait(`document.activeElement.id === 'nudge-text'`)
	p.keys("run the <b>tests</b>")
	p.press('\r', chromedp.ModifierCtrl)
	did(t, f, "nudge checkout: run the <b>tests</b>")
	p.see("checkout: submitted")

	p.keys("x")
	p.see("running since noon")
	p.keys(kb.Escape)
	p.wait(`!document.querySelector('dialog')`)
	p.keys("t")
	p.see("Release control")
	p.keys("h", "i")
	p.on("hi") // typed, and not the keys of the page
	p.press('b', chromedp.ModifierCtrl)
	p.keys("d")
	p.see("Take control")
	p.keys("i")
	did(t, f, "interrupt checkout")
	p.keys(kb.Escape)
	p.wait(`location.hash === '#/'`)
	p.keys("?")
	p.see("take control")
}

func TestDestructiveActionsAskOnce(t *testing.T) {
	f := team()
	p := open(t, serve(t, f).link(false), phone)
	p.to("agent/cart")
	p.click(`[data-action="stop"]`)
	p.see("Stop cart?")
	p.click(`dialog button:not(.main)`)
	p.wait(`!document.querySelector('dialog')`)
	p.click(`[data-action="restart"]`)
	p.click(`dialog button.main`)
	did(t, f, "restart cart")
	if done := f.Done(); slices.Contains(done, "stop cart") {
		t.Errorf("done: %q", done)
	}
}

func TestReceiptStaysUntilDismissed(t *testing.T) {
	f := team()
	f.Receipt = fleet.Receipt{State: "drafted", Detail: "it is in the input line"}
	p := open(t, serve(t, f).link(false), phone)
	p.to("agent/cart")
	p.click(`#nudge`)
	p.keys("hello")
	p.click(`dialog button.main`)
	p.see("cart: drafted; it is in the input line")
	p.to("")
	p.see("cart: drafted")
	p.click(`.note button`)
	p.miss("cart: drafted")
}

func TestChangedQuestionIsNotAnswered(t *testing.T) {
	f := team()
	f.AnswerErr = fleet.ErrChanged
	p := open(t, serve(t, f).link(false), phone)
	p.click(`[data-option="1"]`)
	p.click(`dialog button.main`)
	p.see("not answered: the question has changed since")
}

func TestDeadLetters(t *testing.T) {
	f := team()
	p := open(t, serve(t, f).link(false), phone)
	p.click(`[data-id="dl"] button.main`)
	did(t, f, "retry m7")
}

func TestHistoryEventsAndCommands(t *testing.T) {
	f := team()
	line := func(n uint64, text string) fleet.HistoryLine {
		l := fleet.HistoryLine{N: n}
		l.Line = drawn(80, 1, 1, text).Lines[0]
		return l
	}
	f.Rows = fleet.History{Cols: 80, Lines: []fleet.HistoryLine{line(1, "\x1b[31mFAIL\x1b[m cart_test.go"), line(2, "a fail in <script>alert(1)</script>")}}
	code := 1
	f.Background = []fleet.Command{{ID: "c1", Owner: "cart", Command: "make test", Status: "exited", Code: &code, Started: ago(time.Minute)}}
	f.Printed = fleet.Output{Lines: []fleet.OutputLine{{N: 1, Text: "FAIL shop/cart"}}}
	p := open(t, serve(t, f).link(false), laptop)
	p.to("history/cart")
	p.see("cart_test.go")
	p.keys("/")
	p.keys("fail", kb.Enter)
	p.wait(`[...document.querySelectorAll('mark')].map((m) => m.textContent).join() === 'FAIL,fail'`)
	p.picture("history-laptop")
	p.to("events")
	f.Happen(fleet.Event{Time: time.Now(), Kind: "agent.restarted", Agent: "cart", Why: "it crashed"})
	p.see("agent.restarted")
	p.to("commands")
	p.see("make test")
	p.click(`[data-command="c1"]`)
	p.see("FAIL shop/cart")
}

func TestRecordingIsScrubbed(t *testing.T) {
	f := team()
	var cast bytes.Buffer
	fmt.Fprintln(&cast, `{"version":2,"width":60,"height":10}`)
	for i := range 50 {
		fmt.Fprintf(&cast, "[%d.5,\"o\",\"\\u001b[2J\\u001b[Hpicture %d\\r\\n\"]\n", i*100, i) // pauses of 100 s, which are cut
	}
	f.Cast = cast.String()
	p := open(t, serve(t, f).link(false), laptop)
	p.to("agent/cart")
	p.keys("r")
	text := `window.gc.view.x.term.buffer.active.getLine(0).translateToString(true)`
	p.wait(`window.gc.view.length > 0 && window.gc.view.length < 80`)
	p.run(`window.gc.view.seek(40); 0`)
	p.wait(text + ` === 'picture 26'`)
	p.run(`window.gc.view.seek(10); 0`)
	p.wait(text + ` === 'picture 6'`)
	p.run(`window.gc.view.speed.value = '16'; window.gc.view.toggle()`)
	p.wait(text + ` === 'picture 49'`)
	p.wait(`!window.gc.view.playing`)
	p.picture("recording-laptop")
}

// TestLongRecordingIsCut: of a recording that is too long for a page it shows the beginning, and
// says so.
func TestLongRecordingIsCut(t *testing.T) {
	f := team()
	var cast strings.Builder
	fmt.Fprintln(&cast, `{"version":2,"width":60,"height":10}`)
	long := strings.Repeat("x", 1<<20)
	for i := range 70 {
		fmt.Fprintf(&cast, "[%d,\"o\",\"%s\"]\n", 60*i, long)
	}
	f.Cast = cast.String()
	p := open(t, serve(t, f).link(false), laptop)
	p.to("recording/cart")
	p.see("Only the beginning: this is 62:00 of it. gc session record has all.")
	p.wait(`window.gc.view.list.length === 63 && window.gc.view.element.querySelector('[role=status]').checkVisibility()`)
}

// TestGrids: a grid of two or three fills the window with whole screens.
func TestGrids(t *testing.T) {
	f := team()
	p := open(t, serve(t, f).link(false), laptop)
	p.to("fleet")
	p.see("infra · pool reviewers")
	for _, c := range []struct {
		size string
		side int
	}{{"grid2", 2}, {"grid3", 3}} {
		p.run(`window.gc.view.resize('` + c.size + `'); 0`)
		p.wait(`document.querySelectorAll('.group').length === 0`)
		inView := `[...document.querySelectorAll('.card')].filter((c) => c.getBoundingClientRect().bottom <= innerHeight)`
		p.wait(fmt.Sprintf("%s.length === %d", inView, c.side*c.side))
		p.wait(inView + `.every((c) => { const s = c.querySelector('canvas'), r = s.getBoundingClientRect(), box = c.querySelector('.thumb').getBoundingClientRect();
			return s.style.width && s.width > 250 && r.right <= box.right && r.bottom <= box.bottom; })`)
		p.wait(`window.gc.view.screenOf('review-1').rows === 30`)
		p.picture(c.size + "-laptop")
	}
}

func TestFloodOfLines(t *testing.T) {
	f := team()
	f.Attached = func(_ string, _ fleet.AttachOptions, conn io.ReadWriteCloser) {
		for i := range 10_000 {
			if _, err := fmt.Fprintf(conn, "line %d %s\r\n", i, strings.Repeat("#", 60)); err != nil {
				return
			}
		}
		io.WriteString(conn, "the end")
	}
	p := open(t, serve(t, f).link(false), laptop)
	p.to("agent/cart")
	p.on("the end")
	if got := p.screen(); !strings.Contains(got, "line 9999 #") {
		t.Errorf("the terminal shows\n%s", got)
	}
	p.keys("n")
	p.wait(`document.activeElement.id === 'nudge-text'`)
}

func TestManyAgentsAndAWideOne(t *testing.T) {
	f := &fleetfake.Fleet{}
	f.Attached = func(_ string, o fleet.AttachOptions, conn io.ReadWriteCloser) {
		fmt.Fprintf(conn, "%dx%d\x1b[100;295Hcorner", o.Cols, o.Rows)
		io.Copy(io.Discard, conn)
	}
	var s fleet.Snapshot
	for i := range 500 {
		a := fleet.Agent{ID: fmt.Sprintf("agent-%03d", i), Name: fmt.Sprintf("agent-%03d", i), Rig: fmt.Sprintf("rig%d", i%5), State: "running", Status: "idle"}
		s.Agents = append(s.Agents, a)
		f.Show(a.ID, drawn(80, 24, 1, a.Name))
	}
	f.Show("agent-007", drawn(300, 100, 2, "wide"))
	f.Set(s)
	p := open(t, serve(t, f).link(false), laptop)
	p.to("fleet")
	p.see("500 agents")
	p.wait(`[...document.querySelectorAll('canvas.cells')].filter((c) => c.width > 300).length > 3`)
	if n := eval[int](p, `[...document.querySelectorAll('canvas.cells')].filter((c) => c.width > 300).length`); n > 60 {
		t.Errorf("%d screens are drawn, most of them out of sight", n)
	}
	p.keys("/")
	p.keys("agent-007", kb.Escape, "j", kb.Enter)
	p.on("300x100")
	p.on("corner")
	if wider := eval[float64](p, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); wider > 0 {
		t.Errorf("the page is %v pixels too wide", wider)
	}
	p.picture("wide-agent-laptop")
}
