package status_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
	"gascity.dev/gc/vt"
)

// rig is a terminal with a detector, and a clock.
type rig struct {
	t    *testing.T
	term *vt.Terminal
	d    status.Detector
	f    status.Facts
	now  time.Time
}

func newRig(t *testing.T) *rig {
	term, err := vt.New(vt.Options{Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	return &rig{t: t, term: term, now: now, f: status.Facts{Started: now, Dialogs: rule.Dialogs()}}
}

func (r *rig) write(text string) {
	_, _ = r.term.Write([]byte(text))
	r.f.LastOutput = r.now
	for _, e := range r.term.TakeEvents() {
		r.d.Event(e, r.now)
	}
}

func (r *rig) pass(d time.Duration) { r.now = r.now.Add(d) }

// is checks the state, "blocked/permission" with its kind.
func (r *rig) is(want string) (status.Activity, time.Duration) {
	r.t.Helper()
	a, again := r.d.Detect(r.term, r.f, r.now)
	got := a.State
	if a.Kind != "" {
		got += "/" + a.Kind
	}
	if got != want {
		r.t.Fatalf("%s, want %s: %+v", got, want, a)
	}
	if again.IsZero() {
		return a, 0
	}
	return a, again.Sub(r.now)
}

func report(pairs string) string { return "\x1b]7501;" + pairs + "\x1b\\" }

func text(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

const menu = "\r\nRemove it?\r\n❯ 1. Yes\r\n  2. No\r\n"

func TestNothingIsUnknown(t *testing.T) {
	r := newRig(t)
	r.is("unknown")
	r.write("compiling…\r\n> ")
	r.pass(time.Hour)
	a, _ := r.is("unknown")
	if !a.Since.Equal(r.f.LastOutput) || len(a.Sources) != 9 {
		t.Fatalf("%+v", a)
	}
}

func TestWorkingToIdleIsHeld(t *testing.T) {
	r := newRig(t)
	r.write(report("state=idle"))
	r.is("idle") // never worked: at once
	r.write(report("state=working"))
	r.is("working")
	r.pass(time.Minute)
	r.write(report("state=idle"))
	if _, d := r.is("working"); d != 1500*time.Millisecond {
		t.Fatal(d)
	}
	r.pass(time.Second)
	r.write(report("state=idle")) // repeated: the time counts from the first
	if _, d := r.is("working"); d != 500*time.Millisecond {
		t.Fatal(d)
	}
	r.pass(500 * time.Millisecond)
	a, d := r.is("idle")
	if d != 0 || r.now.Sub(a.Since) != 1500*time.Millisecond {
		t.Fatal(a, d)
	}
	r.write(report("state=blocked:kind=auth"))
	r.is("blocked/auth") // at once
}

// TestDoneTakesMessages: done is idle with news; the next turn, or a person
// looking, ends the news.
func TestDoneTakesMessages(t *testing.T) {
	r := newRig(t)
	r.write(report("state=working"))
	r.pass(time.Minute)
	r.write(report("state=done"))
	a, _ := r.is("done")
	if !a.TakesMessages() {
		t.Fatal("done takes no messages")
	}
	r.pass(time.Second)
	r.write(report("state=idle")) // not seen yet
	if b, _ := r.is("done"); !b.Since.Equal(a.Since) {
		t.Fatalf("%+v, before %+v", b, a)
	}
	r.write(report("state=working"))
	if b, _ := r.is("working"); b.TakesMessages() {
		t.Fatal("working takes messages")
	}
	r.write(report("state=done"))
	r.is("done")
	r.pass(time.Second)
	if !r.d.See(r.now) || r.d.See(r.now) {
		t.Fatal("the first look changes something, the second nothing")
	}
	if b, _ := r.is("idle"); !b.TakesMessages() {
		t.Fatal("idle takes no messages")
	}
	r.pass(time.Second)
	r.write(report("state=done:id=part"))
	r.write(report("state=working"))
	r.write(report("state=done"))
	r.is("done")
}

func TestShellMarks(t *testing.T) {
	r := newRig(t)
	r.write("\x1b]133;A\x1b\\$ \x1b]133;B\x1b\\")
	r.is("idle")
	r.pass(time.Second)
	r.write("make\r\n\x1b]133;C\x1b\\")
	r.is("working")
	r.write(report("state=blocked:kind=question"))
	r.is("blocked/question")
	r.pass(time.Second)
	r.write("\x1b]133;D;0\x1b\\")
	r.is("blocked/question") // until the next prompt
	r.write("\x1b]133;A\x1b\\$ \x1b]133;B\x1b\\")
	if _, d := r.is("working"); d != 1500*time.Millisecond {
		t.Fatal(d)
	}
	r.pass(1500 * time.Millisecond)
	r.is("idle")
	r.write(report("state=done"))
	r.write("\x1b]133;A\x1b\\")
	r.is("done") // a result survives the prompt
	r.write("\x1bc")
	r.is("unknown")
}

func TestQuestionWinsOverAnOlderClaim(t *testing.T) {
	r := newRig(t)
	r.write(report("state=working"))
	r.is("working")
	r.pass(time.Second)
	r.write(menu)
	first, _ := r.is("blocked/permission")
	r.pass(time.Minute)
	r.write(report("state=working")) // the same claim again
	a, _ := r.is("blocked/permission")
	if !a.Since.Equal(first.Since) || a.Pending.ID != first.Pending.ID {
		t.Fatalf("%+v, first %+v", a, first)
	}
	r.pass(time.Second)
	r.write(report("state=blocked:kind=question"))
	r.is("blocked/question") // its own report gives the kind
	r.pass(time.Second)
	r.write(report("state=working")) // answered; the menu is still painted
	r.is("working")
}

func TestReadyPrefix(t *testing.T) {
	r := newRig(t)
	r.f.Ready = "❯ "
	r.write("working hard\r\n❯ ")
	if _, d := r.is("unknown"); d != 1500*time.Millisecond {
		t.Fatal(d)
	}
	r.pass(1500 * time.Millisecond)
	a, _ := r.is("idle")
	if a.Source != status.FromReady {
		t.Fatalf("%+v", a)
	}
	r.write("\r\nmore text\r\n") // the cursor left the prompt
	r.pass(2 * time.Second)
	r.is("unknown")
	r.write("\x1b[?25l\x1b[2J\x1b[H│ ❯ │\r\n  ? for shortcuts\r\n") // it paints its own cursor
	r.pass(2 * time.Second)
	r.is("idle")
	r.write("\x1b[2J\x1b[H❯ tell me\r\n" + strings.Repeat("a long answer\r\n", 12))
	r.pass(2 * time.Second)
	r.is("unknown") // a prompt in the conversation above
	r.write("\x1b[?25h\x1b[2J\x1b[H❯ 1. Yes\r\n  2. No\x1b[1;1H")
	r.pass(2 * time.Second)
	r.is("blocked/permission")
}

// A program known to report its status shows its prompt long before it reads.
func TestReadyPrefixBeforeTheFirstReport(t *testing.T) {
	r := newRig(t)
	r.f.Ready, r.f.Reports = "› ", true
	r.write("› ")
	r.pass(2 * time.Second)
	if _, again := r.is("unknown"); again != 28*time.Second {
		t.Errorf("looked at again after %v", again)
	}
	r.write(report("state=idle"))
	if a, _ := r.is("idle"); a.Source != status.FromReport {
		t.Errorf("%+v", a)
	}
	older := newRig(t) // a release that does not report
	older.f.Ready, older.f.Reports = "› ", true
	older.write("› ")
	older.pass(30 * time.Second)
	if a, _ := older.is("idle"); a.Source != status.FromReady {
		t.Errorf("%+v", a)
	}
}

// TestFirstMessage: a program that was given a message on its command line is
// not idle before it takes it, is seen to work, or a limit passes.
func TestFirstMessage(t *testing.T) {
	idle := func(t *testing.T) (*rig, *bool) {
		r, shown := newRig(t), false
		r.f.Ready, r.f.Opening = "> ", &status.Opening{Name: "the message of its command line", Shown: func() bool { return shown }}
		r.write("> ")
		r.pass(2 * time.Second)
		a, again := r.is("unknown")
		if again != 10*time.Second || !strings.Contains(a.Evidence, "message of its command line") {
			t.Fatalf("again in %v: %+v", again, a)
		}
		return r, &shown
	}
	t.Run("shown", func(t *testing.T) {
		r, shown := idle(t)
		*shown = true
		r.is("idle")
		*shown = false // it has scrolled away
		r.is("idle")
	})
	t.Run("worked", func(t *testing.T) {
		r, _ := idle(t)
		r.write(report("state=working"))
		r.is("working")
		r.write(report("state=idle"))
		r.pass(2 * time.Second)
		r.is("idle")
	})
	t.Run("never", func(t *testing.T) {
		r, _ := idle(t)
		r.pass(10 * time.Second)
		r.is("idle")
	})
	t.Run("started long ago", func(t *testing.T) {
		r := newRig(t)
		r.f.Ready, r.f.Opening = "> ", &status.Opening{Shown: func() bool { return false }}
		r.write("> ")
		r.pass(time.Minute)
		r.is("idle")
	})
}

func TestTitleAndProgress(t *testing.T) {
	r := newRig(t)
	r.write("\x1b]0;⠂ thinking\x07")
	_, d := r.is("working")
	if d <= 3*time.Second || d > 3100*time.Millisecond {
		t.Fatal(d)
	}
	r.pass(4 * time.Second)
	r.is("unknown") // nothing moves
	r.write("\x1b]9;4;3\x07")
	r.is("working")
	r.pass(time.Hour)
	r.is("working")
	r.write("\x1b]9;4;0\x07\x1b]0;✳ ready\x07")
	r.is("unknown")
}

func TestRecordsTogether(t *testing.T) {
	for _, c := range []struct{ want, reports string }{
		{"working", "id=a:state=idle id=b:state=working id=c:state=done"},
		{"error", "id=a:state=done id=b:state=error"},
		{"idle", "id=a:state=working state=idle"}, // its own report counts
		{"blocked/auth", "state=idle id=a/b:state=blocked:kind=auth"},
		{"unknown", "id=a:state=working id=a/b:state=blocked id=a:state=clear"},
		{"done", "id=a:state=working id=ab:state=done id=a:state=clear"},
		{"unknown", "state=working id=a:state=done state=clear"},
		{"working", "state=working:progress=40:app=cargo:later=x state=what"},
	} {
		r := newRig(t)
		for p := range strings.FieldsSeq(c.reports) {
			r.write(report(p))
		}
		r.is(c.want)
	}
}

func TestReportsThatAreDiscarded(t *testing.T) {
	for name, pairs := range map[string]string{
		"no state":        "app=x",
		"unknown state":   "state=busy",
		"long":            "state=working:x=" + strings.Repeat("a", 4090),
		"long key":        "state=working:" + strings.Repeat("k", 17) + "=1",
		"long id":         "state=working:id=" + strings.Repeat("a", 33),
		"deep id":         "state=working:id=1/2/3/4/5/6/7/8/9",
		"empty segment":   "state=working:id=a//b",
		"long app":        "state=working:app=" + strings.Repeat("a", 33),
		"bad base64":      "state=working:msg=a",
		"long text":       "state=working:title=" + text(strings.Repeat("a", 193)),
		"control in text": "state=working:msg=" + text("a\x1b[2Jb"),
		"no UTF-8":        "state=working:msg=" + text("\xff"),
		"no id":           "state=blocked:id=",
		"bad id":          "state=blocked:id=sub task",
		"clear, bad id":   "state=clear:id=sub task",
		"clear, no id":    "state=clear:id=a/",
		"first id bad":    "state=blocked:id=bad//id:id=good",
		"no base64":       "state=blocked:msg=Go on?",
		"bits left":       "state=blocked:msg=QR==",
		"padding":         "state=blocked:msg=SGk===",
		"long base64":     "state=blocked:msg=" + strings.Repeat("A", 2736),
		"first app long":  "state=blocked:app=" + strings.Repeat("a", 33) + ":app=short",
	} {
		r := newRig(t)
		r.write(report("state=idle") + report(pairs))
		if a, _ := r.d.Detect(r.term, r.f, r.now); a.State != "idle" {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

func TestReportsThatCount(t *testing.T) {
	r := newRig(t)
	r.write(report("no pair:state=blocked:KIND=x:kind=nothing:msg=" + text("Why \u202eeno?")))
	a, _ := r.is("blocked/question")
	if a.Pending.Prompt != "Why eno?" || len(a.Pending.Options) != 0 {
		t.Fatalf("%+v", a.Pending)
	}
	first := a.Pending.ID
	r.pass(time.Second)
	r.write(report("state=working") + report("state=blocked:msg="+text("Why \u202eeno?")))
	if a, _ = r.is("blocked/question"); a.Pending.ID == first {
		t.Fatal("asked again, it is the same question")
	}
}

func TestReportsInDetail(t *testing.T) {
	for reports, want := range map[string]string{
		"state=working:progress=0":                        "state=working progress=0%",
		"state=working:progress=+5":                       "state=working",
		"state=working:progress=101":                      "state=working",
		"state=done:progress=40":                          "state=done",
		"state=idle:app=root state=working:id=a/b/c":      "state=idle app=root",
		"state=blocked:id=a/b state=idle:app=x:id=a":      "state=blocked id=a/b app=x",
		"state=blocked:id=b/c state=idle:app=x:id=a":      "state=blocked id=b/c",
		"state=working:broken:app=good:app=bad,x:later=y": "state=working",
		"state=working:app=good:app=bad!x":                "state=working app=good",
		"state=working:msg=SGk":                           "state=working msg=Hi",
	} {
		r := newRig(t)
		for p := range strings.FieldsSeq(reports) {
			r.write(report(p))
		}
		if a, _ := r.d.Detect(r.term, r.f, r.now); a.Evidence != want {
			t.Errorf("%s: %q, want %q", reports, a.Evidence, want)
		}
	}
}

func TestRecordsAreBounded(t *testing.T) {
	r := newRig(t)
	for i := range 300 {
		r.write(report(fmt.Sprintf("state=working:id=n%d:msg=%s", i, text(strings.Repeat("m", 2048)))))
	}
	b, err := r.d.Save()
	if err != nil || strings.Count(string(b), `"id"`) != 256 || strings.Contains(string(b), `"n43"`) || len(b) > 1<<20 {
		t.Fatalf("%v, %d bytes, %d records", err, len(b), strings.Count(string(b), `"id"`))
	}
}

func TestSavedAndLoaded(t *testing.T) {
	r := newRig(t)
	r.write("\x1b]9;4;3\x07" + report("state=working:app=x") + report("state=idle"))
	b, err := r.d.Save()
	if err != nil {
		t.Fatal(err)
	}
	var next status.Detector
	if err := next.Load(b); err != nil {
		t.Fatal(err)
	}
	r.d = next
	r.is("working")
	r.pass(1500 * time.Millisecond)
	r.is("idle")
	if next.Load([]byte(`{"records":`)) == nil {
		t.Fatal("half of it was accepted as complete")
	}
}

func TestEnded(t *testing.T) {
	r := newRig(t)
	r.write(report("state=idle") + menu)
	r.f.Ended, r.f.EndedAt = "exit status 3", r.now
	a, _ := r.is("exited")
	if a.Source != status.FromProcess || a.Evidence != "exit status 3" || a.Pending != nil {
		t.Fatalf("%+v", a)
	}
}

// Recorded screens of agents: certain menus block, and nothing else does.
func TestRecordedScreens(t *testing.T) {
	files, err := filepath.Glob("../rule/testdata/*.screen")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	kinds := map[string]string{
		"bypass": "permission", "gemini-trust": "trust", "permission-numbered": "permission",
		"rate-limit": "ratelimit", "update": "question",
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		want, screen, _ := strings.Cut(string(b), "\n")
		r := newRig(t)
		if err := r.term.Resize(160, 60); err != nil {
			t.Fatal(err)
		}
		r.write(strings.ReplaceAll(strings.TrimRight(screen, "\n"), "\n", "\r\n"))
		a, _ := r.d.Detect(r.term, r.f, r.now)
		name := strings.TrimSuffix(filepath.Base(f), ".screen")
		if menu := strings.Contains(want, "marked"); menu != (a.State == status.Blocked) {
			t.Errorf("%s (%s): %+v", name, want, a)
		}
		if kind := kinds[name]; kind != "" && a.Kind != kind {
			t.Errorf("%s: kind %s, want %s", name, a.Kind, kind)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add("state=working:app=x:progress=3")
	f.Add("state=blocked:kind=permission:id=a/b:msg=" + text("Go?"))
	f.Fuzz(func(t *testing.T, pairs string) {
		var d status.Detector
		d.Event(vt.Event{Kind: vt.EventStatus, Text: pairs}, time.Unix(1, 0))
		b, err := d.Save()
		if err != nil {
			t.Fatal(err)
		}
		var again status.Detector
		if err := again.Load(b); err != nil {
			t.Fatal(err)
		}
	})
}

// TestBlockedRuleWaitsForItsQuestion: a title that announces a question
// precedes it; pending is the question, or the title if none follows.
func TestBlockedRuleWaitsForItsQuestion(t *testing.T) {
	r := newRig(t)
	r.f.Rules = []rule.Status{
		{Name: "works", State: "working", Region: "title", Any: []string{"◐"}},
		{Name: "asks", State: "blocked", Kind: "permission", Region: "title", All: []string{"✳"}, Settle: clock.Millis(300 * time.Millisecond)},
	}
	r.write("\x1b]2;◐ work\a")
	r.is("working")
	for _, painted := range []bool{true, false} {
		r.write("\x1b[2J\x1b[H\x1b]2;✳ work\a")
		if _, again := r.is("working"); again != 300*time.Millisecond {
			t.Errorf("looked at again after %v", again)
		}
		want := []string{"Yes", "No"}
		if painted {
			r.write("Do it?\r\n❯ 1. Yes\r\n  2. No")
		} else {
			r.pass(300 * time.Millisecond)
			want = nil
		}
		if a, _ := r.is("blocked/permission"); !slices.Equal(a.Pending.Options, want) {
			t.Errorf("pending %+v, want the options %q", a.Pending, want)
		}
		r.write("\x1b[2J\x1b[H\x1b]2;◐ work\a")
		r.is("working")
	}
}

// TestTitleSaysIdle: before the first work, a title that says idle is believed
// after its pause; after work it counts at once, whatever else is painted.
func TestTitleSaysIdle(t *testing.T) {
	r := newRig(t)
	r.f.Rules = []rule.Status{
		{Name: "works", State: "working", Region: "title", Any: []string{"◐"}},
		{Name: "free", State: "idle", Region: "title", All: []string{"agent"}, Not: []string{"◐"}, Settle: clock.Millis(1500 * time.Millisecond)},
	}
	r.write("\x1b]2;agent\a")
	if _, again := r.is("unknown"); again != 1500*time.Millisecond {
		t.Errorf("looked at again after %v", again)
	}
	r.pass(1500 * time.Millisecond)
	r.is("idle")
	r.write("a hint") // no work
	r.is("idle")
	r.pass(time.Second)
	r.f.LastInput = r.now
	r.write("> a message") // its effect is not known yet
	r.is("unknown")
	r.write("\x1b]2;◐ agent\a")
	r.is("working")
	r.write("\x1b]2;agent\a")
	if _, again := r.is("working"); again != 150*time.Millisecond {
		t.Errorf("looked at again after %v", again)
	}
	r.write("\x1b]2;◐ agent\a") // the next step of the turn
	r.is("working")
	r.pass(time.Minute)
	r.write("\x1b]2;agent\a")
	r.is("working")
	r.pass(150 * time.Millisecond)
	r.write("a hint")
	r.is("idle")
}

// TestStatusRules: configured rules rank below the program's own report and
// above the ready prefix; idle is believed after a pause, and a visible blocker
// overrides an older claim.
func TestStatusRules(t *testing.T) {
	r := newRig(t)
	r.f.Ready = "> "
	r.f.Rules = []rule.Status{
		{Name: "busy", State: "working", Any: []string{"esc to interrupt"}, Priority: 1},
		{Name: "free", State: "idle", All: []string{"? for shortcuts"}},
		{Name: "login", State: "blocked", Kind: "auth", Any: []string{"Please log in"}, Priority: 2},
	}
	r.write("Thinking (esc to interrupt)\r\n> ")
	a, _ := r.is("working")
	if a.Source != status.FromScreen || !strings.Contains(a.Evidence, "rule busy") || !strings.Contains(a.Evidence, "esc to interrupt") {
		t.Errorf("%+v", a)
	}
	since := a.Since
	r.pass(time.Minute)
	r.write("\x1b[HThinking more (esc to interrupt)")
	if a, _ := r.is("working"); !a.Since.Equal(since) {
		t.Errorf("it works since %v, not %v", since, a.Since)
	}
	r.write("\x1b[2J\x1b[H? for shortcuts")
	if _, again := r.is("unknown"); again != 1500*time.Millisecond {
		t.Errorf("looked at again after %v", again)
	}
	r.pass(1500 * time.Millisecond)
	if a, _ := r.is("idle"); a.Source != status.FromScreen {
		t.Errorf("%+v", a)
	}
	r.write(report("state=working"))
	r.is("working") // its own report is stronger
	r.pass(time.Minute)
	r.write("\r\nPlease log in")
	a, _ = r.is("blocked/auth")
	if a.Source != status.FromScreen {
		t.Errorf("a blocker in sight does not override an older claim: %+v", a)
	}
	r.write("\x1b[2J\x1b[H" + menu)
	if a, _ := r.is("blocked/permission"); a.Source != status.FromDialog {
		t.Errorf("%+v", a)
	}
}

// A rule about something that moves holds while the screen changes: a quoted
// spinner does not count.
func TestStatusRulesAboutMovement(t *testing.T) {
	r := newRig(t)
	r.f.Rules = []rule.Status{
		{Name: "spins", State: "working", Any: []string{"⠋ ", "⠙ "}, Moves: true, Priority: 1},
		{Name: "free", State: "idle", Region: rule.Footer, All: []string{"%/"}, Settle: clock.Millis(200 * time.Millisecond)},
		{Name: "title", State: "blocked", Kind: "auth", Region: rule.Title, All: []string{"key?"}},
	}
	r.write("⠋ Working...\r\n────\r\n────\r\n0.0%/100k")
	if _, again := r.is("working"); again != 3*time.Second {
		t.Errorf("looked at again after %v", again)
	}
	r.pass(3 * time.Second)
	if a, _ := r.is("idle"); !strings.Contains(a.Evidence, "rule free") {
		t.Errorf("%+v", a)
	}
	r.write("\x1b[2J\x1b[H0.0%/100k is what I said\r\nfooter: 1.0%/100k")
	if _, again := r.is("unknown"); again != 200*time.Millisecond {
		t.Errorf("looked at again after %v", again)
	}
	r.pass(200 * time.Millisecond)
	if a, _ := r.is("idle"); !strings.Contains(a.Evidence, "footer: 1.0%/100k") {
		t.Errorf("%+v", a)
	}
	r.write("\r\nno footer")
	r.pass(time.Minute)
	r.is("unknown") // it was quoted above
	r.f.Rules = []rule.Status{{Name: "ready", State: "idle", Region: rule.Title, All: []string{"◇"}}}
	r.write("\x1b]0;◇  Ready\x07")
	r.is("idle") // a title is set by the program: at once
}

// TestConversationIsNotBelieved: text above the composer is not evidence, except
// the line right above it while that moves.
func TestConversationIsNotBelieved(t *testing.T) {
	r := newRig(t)
	r.f.Ready = "> "
	r.f.Rules = []rule.Status{
		{Name: "busy", State: "working", Any: []string{"esc to interrupt"}, Priority: 1},
		{Name: "login", State: "blocked", Kind: "auth", Any: []string{"Please log in"}},
	}
	r.write("Please log in\r\npress esc to interrupt\r\n\r\n> \r\n? for shortcuts\x1b[4;3H")
	r.is("working") // it may just have begun
	r.pass(4 * time.Second)
	a, _ := r.is("idle") // nothing moves
	if a.Source != status.FromReady {
		t.Fatalf("%+v", a)
	}
	r.write("\x1b[2J\x1b[H" + menu + "\r\nthat was a menu\r\n\r\n> ")
	r.pass(2 * time.Second)
	r.is("idle")
}

// TestMenuThatIsPaintedAgain: a question that vanishes for a moment is still
// pending; one followed by something else is not.
func TestMenuThatIsPaintedAgain(t *testing.T) {
	r := newRig(t)
	r.write(menu)
	a, _ := r.is("blocked/permission")
	r.pass(time.Second)
	r.write("\x1b[2J\x1b[H")
	b, again := r.is("blocked/permission")
	if b.Pending == nil || b.Pending.ID != a.Pending.ID || again != 150*time.Millisecond {
		t.Fatalf("%+v, again after %v", b.Pending, again)
	}
	r.pass(20 * time.Millisecond)
	r.write(menu)
	r.is("blocked/permission")
	r.pass(time.Second)
	r.write("\x1b[2J\x1b[H")
	r.is("blocked/permission")
	r.pass(150 * time.Millisecond)
	r.is("unknown")
	r.write(menu)
	r.is("blocked/permission")
	r.pass(time.Second)
	r.write("\x1b[2J\x1b[H" + report("state=working"))
	r.is("working") // at once
}

// TestDialogAndClaim: within a second the visible dialog wins, otherwise the
// later of the two.
func TestDialogAndClaim(t *testing.T) {
	r := newRig(t)
	r.write(menu)
	r.is("blocked/permission")
	r.pass(900 * time.Millisecond)
	r.write(report("state=working"))
	r.is("blocked/permission")
	r.write(report("state=idle"))
	r.pass(200 * time.Millisecond)
	r.write(report("state=working"))
	r.is("working")
}

// TestOtherProgramsReport: while a program works, another name from its process
// group is a child's or a recording's.
func TestOtherProgramsReport(t *testing.T) {
	r := newRig(t)
	group := 7
	r.d.Group = func() int { return group }
	r.write(report("state=working:app=claude"))
	r.write(report("state=done:app=codex"))
	a, _ := r.is("working")
	if !strings.Contains(a.Sources[1].Evidence, "codex said state=done, rejected") {
		t.Fatalf("%+v", a.Sources[1])
	}
	r.write(report("state=blocked:kind=permission:app=claude"))
	r.is("blocked/permission")
	r.write(report("state=working:app=claude") + report("state=done:app=claude"))
	r.is("done")
	r.write(report("state=working:app=codex")) // the first one is not working
	r.is("working")
	group = 8 // another program was started
	r.write(report("state=done:app=claude"))
	r.is("done")
}

// TestMarksOfNoShell: prompt marks count only from a shell.
func TestMarksOfNoShell(t *testing.T) {
	r := newRig(t)
	r.f.Leader, r.f.Foreground = "pi", "pi"
	r.write("\x1b]133;A\x1b\\\x1b]133;B\x1b\\")
	a, _ := r.is("unknown")
	if !strings.Contains(a.Sources[4].Evidence, `"pi" in the foreground is not a shell`) {
		t.Fatalf("%+v", a.Sources[4])
	}
	r.write("\x1b]133;C\x1b\\")
	r.is("unknown")
	r.f.Leader, r.f.Foreground = "-bash", "make"
	r.is("working")
	r.write("\x1b]133;A\x1b\\")
	r.pass(time.Minute)
	r.is("unknown") // make does not wait for a command
	r.f.Foreground = "-bash"
	r.is("idle")
}

// TestTitlesNeedTheComposer: a restarted program still has its old title.
func TestTitlesNeedTheComposer(t *testing.T) {
	r := newRig(t)
	r.f.Rules = []rule.Status{{Name: "ready", State: "idle", Region: rule.Title, All: []string{"◇"}}}
	r.f.Ready = "> "
	r.write("starting again\x1b]0;◇  Ready\x07")
	r.is("unknown")
	r.write("\x1b[2J\x1b[H> Type your message\x1b[1;3H")
	r.is("idle")
}
