//go:build agents

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The steps of an agent's journey, in order: the columns of the table.
var steps = []string{
	"start", "dialogs", "nudge", "working", "while working", "asks", "respond", "done",
	"lines", "bang", "slash", "tools", "interrupt", "redirect", "stop", "resume", "auto-edit", "bypass",
}

// turn is the limit for any turn of an agent on a busy machine.
const turn = time.Minute

// journey is one agent's run through the steps.
type journey struct {
	*world
	agent  *agent
	stub   *stub
	took   map[string]time.Duration
	said   map[string]string // notes on steps, for the table
	won    map[string]string // state → the source that showed it
	failed string            // the step that failed
}

func (j *journey) step(name string, do func()) {
	j.t.Helper()
	j.failed = name
	began := time.Now()
	do()
	j.took[name] = time.Since(began)
	j.failed = ""
	j.t.Logf("%-14s %6.1f s  %s", name, j.took[name].Seconds(), j.said[name])
}

func (j *journey) note(step, format string, args ...any) {
	j.said[step] = strings.TrimPrefix(j.said[step]+"; "+fmt.Sprintf(format, args...), "; ")
}

func TestAgents(t *testing.T) {
	var all []*journey
	for _, a := range agents {
		t.Run(a.preset, func(t *testing.T) {
			j := &journey{world: newWorld(t), agent: a, stub: newStub(t), took: map[string]time.Duration{}, said: map[string]string{}, won: map[string]string{}}
			all = append(all, j)
			defer func() {
				if t.Failed() {
					j.dump(j.stub)
				}
			}()
			j.travel()
		})
	}
	text := table(all) + sources(all) + delays
	t.Logf("\n%s", text)
	if err := os.WriteFile(filepath.Join(root, "table"), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
	if *report != "" && len(all) != len(agents) {
		t.Error("a report wants every agent")
	}
}

// travel runs every step.
func (j *journey) travel() {
	j.setUp()
	j.step("start", func() { j.gc("start", "--trust") })
	j.step("dialogs", func() { j.comesUp("dialogs") })
	const slow = "tag-slow please, SLOW(4)"
	j.step("nudge", func() { j.nudge(slow) })
	j.step("working", j.works)
	j.step("while working", func() { j.nudgeWhileWorking(slow, "tag-while") })
	file := filepath.Join(j.city, "made-by-agent.txt")
	const run = "tag-run RUN(touch made-by-agent.txt)"
	if j.agent.allow != nil {
		var q question
		j.step("asks", func() { q = j.asks("asks", run, file) })
		j.wins("blocked", j.ended("tag-run"))
		j.step("respond", func() { j.allows(q, file) })
		j.step("done", j.rests)
		j.hooksWork(j.t)
		j.wins("done", j.ended("tag-run"))
	} else {
		j.step("done", func() { j.runsUnasked(run, file) })
		j.hooksWork(j.t)
		j.wins("done", j.ended("tag-run"))
	}
	j.step("lines", func() { j.arrives("tag-lines first line\n  second line\n\nfourth line") })
	j.step("bang", func() { j.arrives("!touch banged tag-bang"); j.absent("banged") })
	j.step("slash", func() { j.arrives("/help tag-slash"); j.arrives("/nope tag-nope") })
	if j.agent.missing["tools"] == "" {
		j.step("tools", j.usesTools)
	}
	j.step("interrupt", j.interrupts)
	j.wins("interrupted", j.ended("tag-long"))
	j.step("redirect", j.redirects)
	j.step("stop", j.stops)
	j.step("resume", j.resumes)
	if j.agent.allow != nil {
		j.step("auto-edit", j.editsOnly)
		j.step("bypass", j.bypasses)
	}
}

// setUp writes what a user of this model would have written.
func (j *journey) setUp() {
	j.t.Helper()
	j.configure("")
	for path, content := range j.agent.files {
		j.write(path, strings.ReplaceAll(content, "MODEL_URL", j.stub.url))
	}
}

// configure writes the city, with the given permission level or the default, and more lines
// of the agent.
func (j *journey) configure(permissions string, more ...string) {
	j.t.Helper()
	if permissions != "" {
		permissions = fmt.Sprintf("permissions = %q\n", permissions)
	}
	if j.agent.missing["tools"] == "" {
		permissions += "mcp_servers = [\"gc\"]\n"
	}
	permissions += strings.Join(more, "")
	var env strings.Builder
	for _, kv := range j.agent.env {
		k, v, _ := strings.Cut(kv, "=")
		fmt.Fprintf(&env, "%s = %q\n", k, strings.ReplaceAll(v, "MODEL_URL", j.stub.url))
	}
	j.write("city/city.toml", fmt.Sprintf("[workspace]\nname = \"real\"\n\n[[agents]]\nname = %q\nprovider = %q\n%s\n[agents.env]\n%s",
		name, j.agent.preset, permissions, env.String()))
}

// comesUp answers, as a person would, every question that gc leaves to people,
// until the agent is idle.
func (j *journey) comesUp(step string) {
	j.t.Helper()
	for range 8 {
		r := j.on("wait", name, "--until", "idle", "--until", "blocked", "--timeout", "90s")
		if r.code != 0 {
			j.t.Fatalf("%s", r)
		}
		if !strings.Contains(r.out, "blocked") {
			return
		}
		q := j.pending()
		option := j.agent.answer(q)
		if option == "" {
			j.t.Fatalf("no answer is known to %s", q)
		}
		j.note(step, "%s: %s", q.Prompt, option)
		if option == "<Enter>" {
			j.gc("keys", name, "Enter")
		} else {
			j.gc("respond", name, "--option", option)
		}
		j.until(10*time.Second, "another screen than "+q.Prompt, func() bool { return j.pending().RequestID != q.RequestID })
	}
	j.t.Fatal("question after question")
}

// nudge sends a message that must be accepted immediately, and waits until the
// model has it.
func (j *journey) nudge(text string) {
	j.t.Helper()
	if out := j.gc("nudge", name, text, "--timeout", "60s"); !strings.HasPrefix(out, "submitted") {
		j.t.Fatalf("receipt: %s", out)
	}
	j.reaches(text)
}

var tagPattern = regexp.MustCompile(`tag-[a-z]+`)

// reaches waits until the model receives the text, whole and once.
func (j *journey) reaches(text string) {
	j.t.Helper()
	tag := tagPattern.FindString(text)
	j.until(turn, "the model gets "+tag, func() bool { _, ok := j.stub.asked(tag); return ok })
	n, got := j.stub.times(tag)
	if n != 1 || !strings.Contains(got, text) {
		j.t.Errorf("%d times, last as %q; want once: %q", n, got, text)
	}
}

// arrives is a whole turn: nudge, then idle again.
func (j *journey) arrives(text string) {
	j.t.Helper()
	j.nudge(text)
	j.rests()
}

// ended is when the model ended its last answer to a message.
func (j *journey) ended(tag string) time.Time {
	for _, r := range slices.Backward(j.stub.main()) {
		if strings.Contains(r.last(), tag) {
			return r.Ended
		}
	}
	return time.Time{}
}

func (j *journey) works() {
	j.t.Helper()
	j.until(10*time.Second, "status working", func() bool { return j.status().Activity == "working" })
	if j.won["working"] == "" {
		r, _ := j.stub.asked("tag-slow")
		j.wins("working", r.At)
	}
}

// rests waits until the agent accepts messages.
func (j *journey) rests() {
	j.t.Helper()
	if r := j.on("wait", name, "--until", "idle", "--timeout", turn.String()); r.code != 0 {
		j.t.Fatalf("%s", r)
	}
}

// nudgeWhileWorking sends a message during a turn: it must arrive after it.
func (j *journey) nudgeWhileWorking(slow, text string) {
	j.t.Helper()
	j.nudge(text)
	first, _ := j.stub.asked(tagPattern.FindString(slow))
	second, _ := j.stub.asked(text)
	if first.Ended.IsZero() || second.At.Before(first.Ended) || first.Aborted {
		j.t.Errorf("the message came at %v into the turn of %v to %v (aborted: %v)", second.At, first.At, first.Ended, first.Aborted)
	}
	j.rests()
}

// asks makes the model request a command, and returns the question.
func (j *journey) asks(step, text, file string) question {
	j.t.Helper()
	j.nudge(text)
	if r := j.on("wait", name, "--until", "blocked", "--timeout", turn.String()); r.code != 0 {
		j.t.Fatalf("%s", r)
	}
	q := j.pending()
	j.note(step, "%q %q", q.Prompt, q.Options)
	j.t.Logf("%s", j.on("peek", name))
	if q.Kind != "permission" || len(q.Options) < 2 {
		j.t.Errorf("the question: %s", q)
	}
	if a := j.status(); a.Activity != "blocked" {
		j.t.Errorf("status %s", a.Activity)
	}
	if _, err := os.Stat(file); err == nil {
		j.t.Error("the file exists before the command was allowed")
	}
	return q
}

// allows answers the question; the command must run.
func (j *journey) allows(q question, file string) {
	j.t.Helper()
	i := slices.IndexFunc(q.Options, j.agent.allow.MatchString)
	if i < 0 {
		j.t.Fatalf("none of %q allows it", q.Options)
	}
	j.gc("respond", name, "--option", q.Options[i])
	j.until(turn, file, func() bool { _, err := os.Stat(file); return err == nil })
}

// runsUnasked is the turn of an agent without permissions to ask for.
func (j *journey) runsUnasked(text, file string) {
	j.t.Helper()
	j.arrives(text)
	j.until(turn, file, func() bool { _, err := os.Stat(file); return err == nil })
}

func (j *journey) absent(file string) {
	j.t.Helper()
	if _, err := os.Stat(filepath.Join(j.city, file)); err == nil {
		j.t.Errorf("%s is there: the message was run as a command", file)
	}
}

// usesTools lets the model call a tool of gc's MCP server, which gc has configured for this
// session. The server knows its session.
func (j *journey) usesTools() {
	j.t.Helper()
	j.nudge("tag-tools CALL(session_list)")
	allows := regexp.MustCompile(`(?i)^(yes|allow|approve|run)`)
	j.until(turn, "the tool's result reaches the model", func() bool {
		if q := j.pending(); q.RequestID != "" {
			i := slices.IndexFunc(q.Options, allows.MatchString)
			if i < 0 {
				j.t.Fatalf("none of %q allows the tool", q.Options)
			}
			j.note("tools", "%q", q.Options[i])
			if r := j.on("respond", name, "--request", q.RequestID, "--option", q.Options[i]); r.code != 0 {
				j.t.Log(r) // it may be gone
			}
		}
		return j.stub.result(`own":true`) || j.stub.result(`own\":true`)
	})
	j.rests()
}

// interrupts interrupts a long turn.
func (j *journey) interrupts() {
	j.t.Helper()
	j.nudge("tag-long SLOW(120)")
	j.works()
	j.gc("interrupt", name)
	j.rests()
	j.until(5*time.Second, "the model's answer is cut off", func() bool {
		r, _ := j.stub.asked("tag-long")
		return r.Aborted
	})
}

// redirects interrupts a long turn with a message, before and after the model has begun
// to answer. The message arrives alone.
func (j *journey) redirects() {
	j.t.Helper()
	for _, x := range []struct{ long, other, answered string }{
		{"tag-early SLOW(118)", "tag-instead", ""}, {"tag-late SLOW(119)", "tag-rather", "word1"},
	} {
		j.nudge(x.long)
		j.works()
		if x.answered != "" {
			j.gc("wait", name, "--until", "text="+x.answered, "--timeout", "20s")
		}
		began := time.Now()
		out := j.gc("nudge", name, "--interrupt", x.other)
		j.t.Logf("%s after %v", strings.TrimSpace(out), time.Since(began).Round(time.Millisecond))
		if !strings.HasPrefix(out, "submitted (the turn was interrupted)") {
			j.t.Errorf("receipt: %s", out)
		}
		j.reaches(x.other)
		_, got := j.stub.times(x.other)
		for line := range strings.Lines(got) {
			if strings.Contains(line, x.other) && strings.TrimSpace(line) != x.other {
				j.t.Errorf("the message is in %q", got)
			}
		}
		if r, _ := j.stub.asked(tagPattern.FindString(x.long)); !r.Aborted {
			j.t.Errorf("the turn went on after %s", x.long)
		}
		j.rests()
	}
}

func (j *journey) stops() {
	j.t.Helper()
	j.gc("agent", "stop", name)
	if a := j.status(); a.State != "stopped" {
		j.t.Errorf("after the stop it is %s", a.State)
	}
}

// resumes restarts the city: the agent continues its conversation, if the preset supports
// that, and no turn begins by itself. Where it cannot, the start says so.
func (j *journey) resumes() {
	j.t.Helper()
	j.gc("stop")
	before := len(j.stub.main())
	j.gc("start", "--trust")
	j.comesUp("resume")
	if n := len(j.stub.main()); j.agent.keeps && n != before {
		r, _ := j.stub.asked("")
		j.t.Errorf("%d requests to the model before any message, such as %q", n-before, r.last())
	}
	j.nudge("tag-again")
	n, _ := j.stub.times("tag-slow")
	if kept := n == 1; kept != j.agent.keeps {
		j.t.Errorf("the conversation was kept: %v, want %v\n%s", kept, j.agent.keeps, j.on("events"))
	}
	if n, first := j.stub.times("[real] a "); n > 1 {
		j.t.Errorf("the first message is in the conversation %d times: %q", n, first)
	}
	j.rests()
}

// again restarts the city with a permission level.
func (j *journey) again(permissions string) {
	j.t.Helper()
	j.gc("stop")
	j.configure(permissions)
	j.gc("start", "--trust")
	j.comesUp(permissions)
}

// editsOnly starts the agent so that it asks only before commands: it asks
// before this one, which is on no list of harmless commands.
func (j *journey) editsOnly() {
	j.t.Helper()
	j.again("auto-edit")
	file := filepath.Join(j.city, "edits.txt")
	j.allows(j.asks("auto-edit", "tag-edits RUN(env touch edits.txt)", file), file)
	j.rests()
}

// bypasses starts the agent so that it never asks.
func (j *journey) bypasses() {
	j.t.Helper()
	j.again("bypass")
	j.runsUnasked("tag-bypass TRY(touch bypass.txt)", filepath.Join(j.city, "bypass.txt"))
}
