package status_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
)

var (
	agent = status.Process{PID: 10, Start: 100}
	child = status.Process{PID: 20, Start: 200}
	other = status.Process{PID: 30, Start: 300}
)

// hooks is a rig whose programs call gc report, each call after the one before.
type hooks struct {
	*rig
	order uint64
	ended map[status.Process]bool
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{rig: newRig(t), ended: map[status.Process]bool{}}
	h.f.AgentGone = func(p status.Process) bool { return h.ended[p] }
	return h
}

// report makes a report of now and returns why it does not count.
func (h *hooks) report(r status.Report) string {
	h.order++
	r.Order, r.At = h.order, h.now
	return h.d.Report(r, func(p status.Process) bool { return !h.ended[p] })
}

// counts makes a report of the agent's hook that must count.
func (h *hooks) counts(state string) {
	h.t.Helper()
	if why := h.report(status.Report{State: state, Hook: "demo " + state, Agent: agent}); why != "" {
		h.t.Fatal(state, why)
	}
}

func TestHookRanking(t *testing.T) {
	h := newHooks(t)
	h.f.Rules = []rule.Status{{Name: "idle", State: status.Idle, All: []string{"ready"}, Settle: 1}}
	h.write("ready")
	h.pass(time.Second)
	h.is("idle")
	h.counts(status.Working)
	if a, _ := h.is("working"); a.Source != status.FromHook || !strings.Contains(a.Evidence, "demo working") {
		t.Fatalf("%+v", a)
	}
	h.write(report("state=blocked:kind=auth")) // within a second the program's own report is stronger
	h.is("blocked/auth")
	h.counts(status.Working)
	h.is("blocked/auth")
	h.pass(time.Minute)
	h.counts(status.Done) // before the turn has ended
	h.is("blocked/auth")
	h.write(report("state=idle"))
	h.is("idle")
	h.pass(time.Minute)
	h.counts(status.Working) // the newest exact source
	h.is("working")
	h.write(menu)
	if a, _ := h.is("blocked/permission"); a.Source != status.FromDialog {
		t.Fatalf("%+v", a)
	}
	h.counts(status.Idle) // within a second of the question
	h.is("blocked/permission")
	h.pass(5 * time.Second)
	h.counts(status.Done) // long after the question appeared
	h.is("done")
}

// TestHookDone: the last message is kept while the agent is done; a look ends the news.
func TestHookDone(t *testing.T) {
	h := newHooks(t)
	h.counts(status.Working)
	h.pass(time.Minute)
	h.report(status.Report{State: status.Done, Hook: "demo Stop", Agent: agent, Message: "All\ntests \x1b[31mpass\u202e."})
	a, _ := h.is("done")
	if a.Message != "All tests [31mpass." || !a.TakesMessages() {
		t.Fatalf("%+v", a)
	}
	h.pass(time.Second)
	h.counts(status.Idle) // not seen yet
	h.is("done")
	if !h.d.See(h.now) || h.d.See(h.now) {
		t.Error("a look ends the news once")
	}
	h.is("idle")
	h.counts(status.Working)
	if a, _ := h.is("working"); a.Message != "" {
		t.Errorf("%+v", a)
	}
}

// TestHookLate: what was said before the last report does not count.
func TestHookLate(t *testing.T) {
	h := newHooks(t)
	h.counts(status.Working)
	h.counts(status.Done)
	why := h.d.Report(status.Report{State: status.Working, Hook: "demo late", Order: h.order - 1, At: h.now}, func(status.Process) bool { return true })
	if !strings.Contains(why, "late") {
		t.Fatal(why)
	}
	if a, _ := h.is("done"); !strings.Contains(a.Evidence, "demo late said working, which does not count") {
		t.Fatalf("%+v", a)
	}
	h.counts(status.Clear)
	if h.d.Report(status.Report{State: status.Working, Order: 1, At: h.now}, nil) == "" {
		t.Error("a report from before a clear counts")
	}
	h.is("unknown")
}

// TestHookOfAChild: an agent that another one started inherits its hooks.
func TestHookOfAChild(t *testing.T) {
	h := newHooks(t)
	h.counts(status.Working)
	h.counts(status.Done)
	if why := h.report(status.Report{State: status.Working, Hook: "child", Agent: child, Above: []status.Process{agent}}); !strings.Contains(why, "the agent runs") {
		t.Error(why)
	}
	h.is("done")
	h.counts(status.Working)
	if why := h.report(status.Report{State: status.Idle, Hook: "other", Agent: other}); !strings.Contains(why, "another program") {
		t.Error(why)
	}
	h.is("working")
	h.counts(status.Idle)
	if why := h.report(status.Report{State: status.Working, Hook: "other", Agent: other}); why != "" {
		t.Error(why)
	}
	h.is("working")
	h.ended[other] = true
	if a, _ := h.is("unknown"); !strings.Contains(a.Sources[2].Evidence, "has ended") {
		t.Errorf("%+v", a)
	}
	if why := h.report(status.Report{State: status.Working, Hook: "child", Agent: child, Above: []status.Process{agent}}); why != "" {
		t.Error("the first agent has ended, and the next one is refused:", why)
	}
	h.is("working")
	if why := h.report(status.Report{State: status.Done}); why != "" { // a person's own
		t.Error(why)
	}
	h.is("done")
}

// TestHookTitle: an agent calls no hook when a turn is interrupted. Its title says so.
func TestHookTitle(t *testing.T) {
	h := newHooks(t)
	h.f.Rules = []rule.Status{
		{Name: "works", State: status.Working, Region: rule.Title, All: []string{"*"}},
		{Name: "rests", State: status.Idle, Region: rule.Title, All: []string{"demo"}, Not: []string{"*"}, Settle: clock.Millis(time.Second)},
	}
	h.write("\x1b]0;demo\a")
	h.pass(time.Minute)
	h.is("idle")
	h.counts(status.Working) // before the title
	h.is("working")
	h.pass(100 * time.Millisecond)
	h.write("\x1b]0;* demo\a")
	h.is("working")
	h.pass(time.Second)
	h.write("\x1b]0;demo\a")
	h.is("working")
	h.pass(time.Second)
	h.is("idle")

	h.counts(status.Working)
	h.write("\x1b]0;* demo\a")
	h.is("working")
	h.pass(time.Second)
	h.counts(status.Done) // before the turn has ended
	h.is("working")
	h.pass(time.Second)
	h.write("\x1b]0;demo\a")
	if _, again := h.is("working"); again != 150*time.Millisecond {
		t.Error("again in", again)
	}
	h.pass(150 * time.Millisecond)
	h.is("done")
	h.pass(time.Minute)
	h.f.LastInput = h.now // a message; the agent has not reported it yet
	if a, again := h.is("idle"); a.Source != status.FromScreen && again == 0 {
		t.Errorf("%+v, again in %v", a, again)
	}
	h.pass(1500 * time.Millisecond)
	h.is("done")
	h.pass(time.Minute)
	h.write("\x1b]0;* demo\a") // a turn that no hook announced
	h.is("working")
}

// TestHookQuestion: a question that a hook announced holds until it was on the screen and
// has gone.
func TestHookQuestion(t *testing.T) {
	h := newHooks(t)
	h.counts(status.Working)
	h.pass(time.Minute)
	h.report(status.Report{State: status.Blocked, Kind: status.Permission, Hook: "demo asks", Agent: agent, Message: "run rm?"})
	if a, _ := h.is("blocked/permission"); a.Pending == nil || a.Pending.Prompt != "run rm?" {
		t.Fatalf("%+v", a)
	}
	h.pass(time.Second)
	h.is("blocked/permission")
	h.write(menu)
	if a, _ := h.is("blocked/permission"); len(a.Pending.Options) != 2 {
		t.Fatalf("%+v", a.Pending)
	}
	h.write("\x1b[2J")
	h.is("blocked/permission") // it may be repainted
	h.pass(time.Second)
	h.is("unknown")
	h.counts(status.Working)
	h.is("working")
}

// TestHookOverRestarts: a report survives the process that heard it, and a reset of the
// terminal; the pause of a shell's prompt ends it.
func TestHookOverRestarts(t *testing.T) {
	h := newHooks(t)
	h.counts(status.Working)
	h.write("\x1bc")
	h.is("working")
	b, err := h.d.Save()
	if err != nil {
		t.Fatal(err)
	}
	next := newHooks(t)
	if err := next.d.Load(b); err != nil {
		t.Fatal(err)
	}
	next.is("working")
	if why := next.d.Report(status.Report{State: status.Idle, Order: 0}, nil); why == "" {
		t.Error("a late report counts")
	}
	next.f.Leader, next.f.Foreground = "pi", "pi"
	next.pass(time.Minute)
	next.write("\x1b]133;A\a") // of no shell
	next.is("working")
	next.f.Leader, next.f.Foreground = "bash", "bash"
	next.is("idle")
}

func TestHookMessage(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a\r\n\tb": "a b", "\x1b]0;x\a": "]0;x", "a\u200bb\u202ec": "abc", "\xff\xfea": "a",
	} {
		if got := status.MessageLine(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for _, in := range []string{strings.Repeat("é", 1<<20), "a" + strings.Repeat("é", 3000), strings.Repeat("x", 2048)} {
		if got := status.MessageLine(in); len(got) > status.MaxMessage || len(got) < status.MaxMessage-3 || !utf8.ValidString(got) {
			t.Error(len(got), utf8.ValidString(got))
		}
	}
}
