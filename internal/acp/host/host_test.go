package host_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/host"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/vt"
)

func TestMain(m *testing.M) {
	if hello := os.Getenv(agentVar); hello != "" && !host.Is(os.Args) {
		runAgent(hello)
		return
	}
	if host.Is(os.Args) {
		os.Exit(host.Run(os.Args))
	}
	testenv.SideBySide(16) // they wait for timers
	os.Exit(m.Run())
}

// plain is an agent that offers nothing.
const plain = `{"protocolVersion":1,"agentInfo":{"name":"test","version":"1"}}`

// setup is what differs between the hosts of the tests.
type setup struct {
	launch control.Launch
	hello  string   // the agent's answer to initialize; "": plain
	env    []string // of host and agent
	brief  bool     // the host may end at once: there is no client
}

// running is a host under test, on a terminal of its own.
type running struct {
	*control.Client
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	dir    string
	socket string
	ended  chan struct{} // closed when it has ended; cmd.ProcessState says how

	screen chan func(*vt.Terminal)
}

// start starts a host with the scripted agent.
func start(t *testing.T, s setup) *running {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	l := s.launch
	if l.Command == "" {
		l.Command = self
	}
	if l.Dir == "" {
		l.Dir = filepath.Join(dir, "agent")
	}
	l.WorkDir, l.Session, l.Version = dir, "test", "test"
	file, err := control.WriteLaunch(l)
	if err != nil {
		t.Fatal(err)
	}
	if s.hello == "" {
		s.hello = plain
	}
	r := &running{t: t, dir: l.Dir, socket: filepath.Join(dir, "s"), ended: make(chan struct{}), screen: make(chan func(*vt.Terminal))}
	r.cmd = exec.Command(self, host.Args(file)...)
	r.cmd.Env = append(os.Environ(), agentVar+"="+s.hello, control.SocketVar+"="+r.socket, control.NonceVar+"=n0nce", "SHELL=/bin/sh")
	r.cmd.Env = append(r.cmd.Env, s.env...)
	if r.pty, err = pty.StartWithSize(r.cmd, &pty.Winsize{Rows: 30, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = r.cmd.Wait()
		close(r.ended)
	}()
	go r.emulate()
	t.Cleanup(r.stop)
	if !s.brief {
		r.Client = control.NewClient(r.dial())
	}
	return r
}

// dial connects to the host, once it listens.
func (r *running) dial() net.Conn {
	r.t.Helper()
	for {
		conn, err := net.Dial("unix", r.socket)
		if err == nil {
			return conn
		}
		select {
		case <-r.ended:
			r.t.Fatalf("the host ended: %v\n%s", r.cmd.ProcessState, r.text())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// emulate keeps the screen of the host's terminal.
func (r *running) emulate() {
	term, err := vt.New(vt.Options{Cols: 80, Rows: 30})
	if err != nil {
		panic(err)
	}
	bytes := make(chan []byte)
	go func() {
		defer close(bytes)
		for {
			b := make([]byte, 32<<10)
			n, err := r.pty.Read(b)
			if err != nil {
				return
			}
			bytes <- b[:n]
		}
	}()
	for {
		select {
		case b, ok := <-bytes:
			if !ok {
				bytes = nil
				continue
			}
			_, _ = term.Write(b)
		case f, ok := <-r.screen:
			if !ok {
				return
			}
			f(term)
		}
	}
}

// text is the history and the screen.
func (r *running) text() string {
	got := make(chan string)
	r.screen <- func(t *vt.Terminal) { got <- t.Text(vt.TextOptions{}) }
	return <-got
}

// stop ends the host and what is left of it.
func (r *running) stop() {
	if r.Client != nil {
		r.Client.Close()
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.ended:
	case <-time.After(15 * time.Second):
		_ = r.cmd.Process.Kill()
		<-r.ended
	}
	r.pty.Close()
	close(r.screen)
}

// until waits for a state.
func (r *running) until(what string, ok func(control.State) bool) control.State {
	r.t.Helper()
	c := control.NewClient(r.dial())
	defer c.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	var last control.State
	met := false
	err := c.Watch(ctx, func(s control.State) {
		if !met {
			last = s
			if met = ok(s); met {
				cancel()
			}
		}
	})
	c.Close()
	if !met {
		r.t.Fatalf("%s: %v; the last state is %+v\n%s", what, err, last, r.text())
	}
	return last
}

func (r *running) ready() control.State {
	r.t.Helper()
	return r.until("ready", func(s control.State) bool { return s.Phase == control.PhaseReady })
}

func (r *running) idle(turns int) control.State {
	r.t.Helper()
	return r.until("idle", func(s control.State) bool { return s.Activity == "idle" && s.Turns >= turns })
}

// shows waits until the terminal shows a text.
func (r *running) shows(want string) {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !strings.Contains(r.text(), want) {
		if time.Now().After(deadline) {
			r.t.Fatalf("the screen does not show %q:\n%s", want, r.text())
		}
		time.Sleep(5 * time.Millisecond) // the terminal is this test's own: nothing tells of its change
	}
}

// send nudges and returns the receipt.
func (r *running) send(id, text string) control.Receipt {
	r.t.Helper()
	got, err := r.Nudge(r.t.Context(), control.Nudge{ID: id, Blocks: []control.Block{{Text: text}}})
	if err != nil {
		r.t.Fatalf("nudge %q: %v", text, err)
	}
	return got
}

// entries are the transcript's lines: kind, author and text.
func (r *running) entries() []string {
	r.t.Helper()
	var out []string
	err := transcript.Read(r.dir, 0, func(e transcript.Entry) error {
		out = append(out, strings.TrimRight(fmt.Sprint(e.Kind, " ", e.By, " ", e.Text, e.StopReason, e.Error), " "))
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

func TestTurn(t *testing.T) {
	r := start(t, setup{})
	if st := r.ready(); st.Activity != "idle" || st.Conversation != "s1" || st.Mode != "ask" || st.Agent != "test 1" {
		t.Errorf("ready: %+v", st)
	}
	if got := r.send("m1", "hello"); got.State != control.StateSubmitted {
		t.Errorf("receipt: %+v", got)
	}
	st := r.idle(1)
	if l := st.LastTurn; l == nil || l.ID != "m1" || l.StopReason != "end_turn" || l.Input != 10 {
		t.Errorf("turn: %+v", l)
	}
	r.shows("you said hello")
	if lines := r.entries(); !strings.HasPrefix(lines[len(lines)-1], "turn") || !strings.Contains(lines[len(lines)-2], "you said hello") {
		t.Errorf("what the turn said does not stand before its end: %q", lines)
	}
	if again := r.send("m1", "hello"); again.State != control.StateSubmitted {
		t.Errorf("the same id again: %+v", again)
	}
	if st, err := r.State(t.Context()); err != nil || st.Turns != 1 {
		t.Errorf("the same id began another turn: %+v, %v", st, err)
	}
}

// Messages that come while the agent works are turns of their own, in order.
func TestOneTurnAtATime(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	if got := r.send("long", "LONG"); got.State != control.StateSubmitted {
		t.Fatal(got)
	}
	for i := range 3 {
		got, err := r.Nudge(t.Context(), control.Nudge{ID: fmt.Sprint("q", i), Queue: true, Blocks: []control.Block{{Text: fmt.Sprint("number ", i)}}})
		if err != nil || got.State != control.StateQueued {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	if now, err := r.Nudge(t.Context(), control.Nudge{ID: "now", Now: true, Blocks: []control.Block{{Text: "x"}}}); err != nil || now.State != control.StateBlocked || now.By != "turn" {
		t.Errorf("now: %+v, %v", now, err)
	}
	if err := r.TakeBack(t.Context(), "q1"); err != nil {
		t.Errorf("take back: %v", err)
	}
	var e *control.Error
	if err := r.TakeBack(t.Context(), "long"); !errors.As(err, &e) || e.Code != control.CodeNotFound {
		t.Errorf("take back what was sent: %v", err)
	}
	if err := r.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.idle(3)
	var prompts []string
	for _, line := range r.entries() {
		if text, ok := strings.CutPrefix(line, "prompt  "); ok {
			prompts = append(prompts, text)
		}
	}
	if want := []string{"LONG", "number 0", "number 2"}; !slices.Equal(prompts, want) {
		t.Errorf("prompts %q, want %q", prompts, want)
	}
}

func TestSteering(t *testing.T) {
	r := start(t, setup{hello: `{"protocolVersion":1,"_meta":{"steering":{"supported":true}}}`})
	r.ready()
	r.send("long", "LONG")
	got, err := r.Nudge(t.Context(), control.Nudge{ID: "s", Now: true, Blocks: []control.Block{{Text: "left"}}})
	if err != nil || got.State != control.StateSubmitted {
		t.Errorf("%+v, %v", got, err)
	}
	r.shows("steered: left")
	r.Interrupt(t.Context())
	r.idle(1)
}

func TestQuestion(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	r.send("m", "ASK touch a")
	st := r.until("blocked", func(s control.State) bool { return s.Activity == "blocked" })
	p := st.Pending
	if st.Kind != "permission" || p == nil || p.Metadata["command"] != "touch a" || !slices.Equal(p.Options, []string{"Always", "Yes", "No"}) {
		t.Fatalf("%+v %+v", st, p)
	}
	for name, a := range map[string]control.Answer{
		"another question": {RequestID: "x", Option: "Yes"}, "an unknown label": {RequestID: p.RequestID, Option: "Y"}, "no label": {RequestID: p.RequestID},
	} {
		var e *control.Error
		if err := r.Respond(t.Context(), a); !errors.As(err, &e) || e.Code != control.CodeStale {
			t.Errorf("%s: %v", name, err)
		}
	}
	r.shows("1. Always")
	if now, err := r.Nudge(t.Context(), control.Nudge{ID: "now", Now: true, Blocks: []control.Block{{Text: "x"}}}); err != nil || now.State != control.StateBlocked || now.By != "question" {
		t.Errorf("now: %+v, %v", now, err)
	}
	answer := control.Answer{ID: "first", RequestID: p.RequestID, Option: "Yes", By: "ann"}
	if err := r.Respond(t.Context(), answer); err != nil {
		t.Fatal(err)
	}
	r.idle(1)
	r.shows(`"optionId":"yes"`)
	if err := r.Respond(t.Context(), answer); err != nil {
		t.Errorf("the same answer again: %v", err)
	}
	answer.ID = "other"
	if err := r.Respond(t.Context(), answer); err == nil {
		t.Error("another answer to the same question")
	}
	if lines := r.entries(); !slices.Contains(lines, "answer ann Yes") {
		t.Errorf("transcript: %q", lines)
	}
}

// A question names the command, whatever the agent calls it.
func TestQuestionNamesTheCommand(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", `REQUEST session/request_permission {"sessionId":"s1","toolCall":{"toolCallId":"x","title":"List files","kind":"execute","rawInput":{"command":"ls /\nrm x"}},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"}]}`)
	st := r.until("blocked", func(s control.State) bool { return s.Pending != nil })
	if want := "List files: ls / rm x"; st.Pending.Prompt != want {
		t.Errorf("%q, want %q", st.Pending.Prompt, want)
	}
	if err := r.Respond(t.Context(), control.Answer{RequestID: st.Pending.RequestID, Option: "Yes", By: "ann"}); err != nil {
		t.Fatal(err)
	}
	r.idle(1)
	r.shows("List files: ls / rm x: Yes (ann)")
	if all := strings.Join(r.entries(), "\n"); !strings.Contains(all, "List files: ls / rm x") {
		t.Errorf("the transcript:\n%s", all)
	}
}

// A person answers on the terminal, and writes messages there.
func TestPerson(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	io.WriteString(r.pty, "ASK rm b\r")
	r.shows("❯ 2. Yes") // not the one that holds for ever
	io.WriteString(r.pty, "\x1b[A")
	r.shows("❯ 1. Always")
	io.WriteString(r.pty, "\x1b[B")
	r.shows("❯ 2. Yes")
	io.WriteString(r.pty, "\r")
	r.shows(`"optionId":"yes"`)
	r.idle(1)
	io.WriteString(r.pty, "\x1b[200~two\nlines\x1b[201~\r")
	r.idle(2)
	r.shows("you said two")
	io.WriteString(r.pty, "LONG\r")
	r.until("working", func(s control.State) bool { return s.Activity == "working" })
	io.WriteString(r.pty, "\x03")
	if st := r.idle(3); st.LastTurn.StopReason != "cancelled" {
		t.Errorf("%+v", st.LastTurn)
	}
}

func TestPolicyAnswers(t *testing.T) {
	r := start(t, setup{launch: control.Launch{Allow: []string{"execute:go test *"}, Deny: []string{"execute:git push*"}}})
	r.ready()
	r.send("a", "ASK go test ./...")
	r.idle(1)
	r.send("b", "ASK git push origin")
	r.idle(2)
	r.shows(`"optionId":"no"`)
	var answers []string
	for _, line := range r.entries() {
		if strings.HasPrefix(line, "answer") {
			answers = append(answers, line)
		}
	}
	if len(answers) != 2 || !strings.HasPrefix(answers[0], "answer policy") || !strings.HasSuffix(answers[0], "Yes") || !strings.HasSuffix(answers[1], "No") {
		t.Errorf("answers: %q", answers)
	}
}

func TestInterruptWithQuestion(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	r.send("m", "ASK touch a")
	r.until("blocked", func(s control.State) bool { return s.Activity == "blocked" })
	r.Interrupt(t.Context())
	r.idle(1)
	r.shows("cancelled")
}

// A message that redirects the agent ends its turn, and comes before those that wait.
func TestRedirect(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	redirect := func(id, interrupted string) {
		t.Helper()
		got, err := r.Redirect(t.Context(), control.Nudge{ID: id, Blocks: []control.Block{{Text: "say " + id}}})
		if err != nil || got.State != control.StateSubmitted || got.Interrupted != interrupted {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
	redirect("first", outcome.InterruptNone)
	r.idle(1)
	r.send("m", "LONG")
	waits, err := r.Nudge(t.Context(), control.Nudge{ID: "waits", Queue: true, Blocks: []control.Block{{Text: "say waits"}}})
	if err != nil || waits.State != control.StateQueued {
		t.Fatalf("%+v, %v", waits, err)
	}
	redirect("second", outcome.InterruptEnded)
	r.idle(4)
	r.send("q", "ASK touch a")
	r.until("blocked", func(s control.State) bool { return s.Activity == "blocked" })
	redirect("third", outcome.InterruptEnded)
	r.idle(6)
	var prompts []string
	for _, line := range r.entries() {
		if text, ok := strings.CutPrefix(line, "prompt  "); ok {
			prompts = append(prompts, text)
		}
	}
	if want := []string{"say first", "LONG", "say second", "say waits", "ASK touch a", "say third"}; !slices.Equal(prompts, want) {
		t.Errorf("the agent got %q", prompts)
	}
	if again, err := r.Redirect(t.Context(), control.Nudge{ID: "second", Blocks: []control.Block{{Text: "say second"}}}); err != nil || again.Interrupted != outcome.InterruptEnded {
		t.Errorf("the same id: %+v, %v", again, err)
	}
}

func TestAskTimeout(t *testing.T) {
	r := start(t, setup{launch: control.Launch{AskTimeout: 50 * time.Millisecond}})
	r.ready()
	r.send("m", "ASK touch a")
	r.idle(1)
	r.shows(`"optionId":"no"`)
}

// More questions than a person can see are cancelled at once.
func TestTooManyQuestions(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "ASKMANY 100")
	r.until("16 open", func(s control.State) bool { return s.Open == 16 })
	r.Interrupt(t.Context())
	r.idle(1)
	cancelled := 0
	for _, line := range r.entries() {
		if strings.HasPrefix(line, "answer") && strings.HasSuffix(line, "cancelled") {
			cancelled++
		}
	}
	if cancelled != 100 {
		t.Errorf("%d answers, want 100", cancelled)
	}
}

func TestFailedTurn(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	if got := r.send("m", "FAIL"); got.State != control.StateRefused || !strings.Contains(got.Detail, "the model refuses") {
		t.Errorf("%+v", got)
	}
	if st := r.idle(1); !strings.Contains(st.LastTurn.Error, "the model refuses") {
		t.Errorf("%+v", st.LastTurn)
	}
	r.send("n", "NOAUTH")
	if st := r.until("blocked", func(s control.State) bool { return s.Activity == "blocked" }); st.Kind != "auth" {
		t.Errorf("%+v", st)
	}
	if got := r.send("o", "hello"); got.State != control.StateSubmitted {
		t.Errorf("after it: %+v", got)
	}
	r.idle(3)
}

// A message is submitted once the agent has read it, and unverified if it does not.
func TestReceiptWithoutAnUpdate(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	if got := r.send("m", "QUIET"); got.State != control.StateSubmitted || got.Detail != "read by the agent" {
		t.Errorf("%+v", got)
	}
	r.Interrupt(t.Context())
	r.idle(1)
	r.send("deaf", "DEAF")
	r.idle(2)
	if got := r.send("n", "hello?"); got.State != control.StateUnverified {
		t.Errorf("an agent that reads nothing: %+v", got)
	}
	if _, err := r.State(t.Context()); err != nil {
		t.Errorf("the host hangs: %v", err)
	}
}

func TestRefusedMessages(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	for name, text := range map[string]string{"empty": " \n", "too long": strings.Repeat("x", 1<<20+1)} {
		if got := r.send(name, text); got.State != control.StateRefused {
			t.Errorf("%s: %+v", name, got)
		}
	}
	r.send("long", "LONG")
	for i := range 64 {
		r.Nudge(t.Context(), control.Nudge{ID: fmt.Sprint(i), Queue: true, Blocks: []control.Block{{Text: "x"}}})
	}
	if got, err := r.Nudge(t.Context(), control.Nudge{ID: "more", Queue: true, Blocks: []control.Block{{Text: "x"}}}); err != nil || got.State != control.StateRefused {
		t.Errorf("a full queue: %+v, %v", got, err)
	}
}

// Nothing that the agent writes reaches the terminal as more than text.
func TestHostileText(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	r.send("a", "RAW")
	r.shows("bell")
	r.send("b", "TTY")
	r.shows("no terminal")
	r.shows("nonce= socket=")
	r.send("c", "JUNK")
	r.shows("after junk")
	if text := r.text(); strings.Contains(text, "PAINTED") || strings.Contains(text, "Loaded cached") {
		t.Errorf("the screen:\n%s", text)
	}
}

func TestFailedStarts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup
		kind, message string
	}{
		"version 0":  {setup{hello: `{"protocolVersion":0}`}, control.FailOther, "version 0"},
		"no session": {setup{env: []string{"GC_TEST_NOSESSION=1"}}, control.FailOther, "no session id"},
		"version 2":  {setup{hello: `{"protocolVersion":2}`}, control.FailOther, "version 2"},
		"a string":   {setup{hello: `{"protocolVersion":"one"}`}, control.FailOther, "one"},
		"auth":       {setup{env: []string{"GC_TEST_AUTH=1"}, hello: `{"protocolVersion":1,"authMethods":[{"id":"key","name":"API key"}]}`}, control.FailAuth, "API key"},
		"login":      {setup{launch: control.Launch{Auth: "key"}, env: []string{"GC_TEST_LOGIN=1"}, hello: `{"protocolVersion":1,"authMethods":[{"id":"key","name":"API key"}]}`}, control.FailAuth, "by key: authenticate: Internal error: the key is missing; the agent offers: key (API key)"},
		"death":      {setup{launch: control.Launch{Command: "echo no such model >&2; exit 3"}}, control.FailDeath, "exit status 3"},
		"no program": {setup{launch: control.Launch{Command: "/nonexistent/agent"}}, control.FailDeath, "exit status 127"},
		"refused":    {setup{env: []string{"GC_TEST_REFUSES=1"}}, control.FailOther, "approval_policy is gone"},
		"mode":       {setup{launch: control.Launch{Mode: "yolo"}}, control.FailOther, "valid values: ask, auto"},
		"silence":    {setup{launch: control.Launch{Command: "sleep 1000", HandshakeTimeout: 50 * time.Millisecond}}, control.FailOther, "not ready after 50ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, c.setup)
			st := r.until("failed", func(s control.State) bool { return s.Phase == control.PhaseFailed })
			if st.Failure.Kind != c.kind || !strings.Contains(st.Failure.Message, c.message) {
				t.Errorf("%+v", st.Failure)
			}
			if name == "death" && !slices.Contains(st.Failure.Stderr, "no such model") {
				t.Errorf("standard error: %q", st.Failure.Stderr)
			}
			if err := r.End(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
				t.Error(err)
			}
			<-r.ended
		})
	}
}

// The agent's end is the host's, with its status; the next host says what died.
func TestDeathInATurn(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	if got := r.send("m", "DIE"); got.State != control.StateDead {
		t.Errorf("%+v", got)
	}
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit status %d", code)
	}
	next := start(t, setup{launch: control.Launch{Dir: r.dir, ResumeID: "old"}, hello: `{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}`})
	if st := next.ready(); !st.Resumed || st.Conversation != "old" {
		t.Errorf("%+v", st)
	}
	next.send("again", "hello")
	if text := next.text(); strings.Contains(text, "replayed") {
		t.Errorf("the replay is shown:\n%s", text)
	}
	next.shows(`the agent ended while it worked on "DIE"; the message is not sent again`)
	if got := next.send("m", "DIE"); got.State != control.StateDead {
		t.Errorf("the receipt is then %+v", got)
	}
}

// An agent that says again what was said, when it only resumes, is not shown twice.
func TestResumeThatReplays(t *testing.T) {
	t.Parallel()
	r := start(t, setup{
		launch: control.Launch{ResumeID: "old"}, env: []string{"GC_TEST_REPLAYS=1"},
		hello: `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`,
	})
	if st := r.ready(); !st.Resumed || st.Conversation != "old" {
		t.Errorf("%+v", st)
	}
	r.send("m", "hello")
	r.idle(1)
	r.shows("you said hello")
	if text := r.text(); strings.Contains(text, "replayed") {
		t.Errorf("the replay is shown:\n%s", text)
	}
}

// An agent that does not answer a cancel is still working, and the status says so; the
// next interrupt is SIGINT.
func TestAgentThatDoesNotReactToCancel(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "STUCK")
	if err := r.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	st := r.until("deaf", func(s control.State) bool { return strings.Contains(s.Evidence, "does not react") })
	if st.Activity != "working" || st.Turn != "m" {
		t.Errorf("%+v", st)
	}
	r.shows("once more sends SIGINT")
	if now, err := r.Nudge(t.Context(), control.Nudge{ID: "now", Now: true, Blocks: []control.Block{{Text: "x"}}}); err != nil || now.State != control.StateBlocked || now.By != "turn" {
		t.Errorf("a second message: %+v, %v", now, err)
	}
	if err := r.Interrupt(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
		t.Fatal(err)
	}
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) && code != 2 {
		t.Errorf("exit status %d", code)
	}
}

// The next host delivers the messages that were queued when the agent died, but none
// that was reported as lost.
func TestDeathWithMessagesQueued(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	if got := r.send("m", "FALL"); got.State != control.StateSubmitted {
		t.Errorf("%+v", got)
	}
	for _, id := range []string{"one", "two"} {
		got, err := r.Nudge(t.Context(), control.Nudge{ID: id, Queue: true, Blocks: []control.Block{{Text: id}}})
		if err != nil || got.State != control.StateQueued {
			t.Errorf("%+v, %v", got, err)
		}
	}
	lost := make(chan control.Receipt, 1)
	waiter := control.NewClient(r.dial())
	defer waiter.Close()
	go func() {
		got, _ := waiter.Nudge(t.Context(), control.Nudge{ID: "three", Blocks: []control.Block{{Text: "three"}}})
		lost <- got
	}()
	r.until("three messages wait", func(s control.State) bool { return len(s.Queue) == 3 })
	if err := os.WriteFile(filepath.Join(filepath.Dir(r.dir), "fall"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-lost; got.State != control.StateDead {
		t.Errorf("the message that was waited for: %+v", got)
	}
	<-r.ended
	next := start(t, setup{launch: control.Launch{Dir: r.dir}})
	next.idle(2)
	next.shows("you said two")
	text := next.text()
	one, two := strings.Index(text, "you said one"), strings.Index(text, "you said two")
	if one < 0 || one > two || strings.Contains(text, "three") || strings.Contains(text, "you said FALL") {
		t.Errorf("%s", text)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	r := start(t, setup{hello: `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"close":{}}}}`})
	r.ready()
	r.send("long", "LONG")
	if err := r.End(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
		t.Error(err)
	}
	<-r.ended
}

// An agent with a bounded number of turns is ended after them, with a status that says
// how the last one ended. Messages that wait come first.
func TestEndAfterItsWork(t *testing.T) {
	t.Parallel()
	for prompt, want := range map[string]int{"hello": 0, "FAIL": 1, "DIE": 7} {
		r := start(t, setup{launch: control.Launch{Prompt: prompt, EndAfter: 1}, brief: true})
		<-r.ended
		if code := r.cmd.ProcessState.ExitCode(); code != want {
			t.Errorf("%s: status %d, want %d", prompt, code, want)
		}
	}
	r := start(t, setup{launch: control.Launch{Prompt: "ASK one", EndAfter: 1}})
	st := r.until("the question", func(s control.State) bool { return s.Pending != nil })
	if got, err := r.Nudge(t.Context(), control.Nudge{ID: "m", Queue: true, Blocks: []control.Block{{Text: "second"}}}); err != nil || got.State != control.StateQueued {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := r.Respond(t.Context(), control.Answer{RequestID: st.Pending.RequestID, Option: "Yes"}); err != nil {
		t.Fatal(err)
	}
	<-r.ended
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("status %d", code)
	}
	r.shows("you said second") // the last output may still be read
}

// Files are read and written only where that is offered and allowed, and only below
// the work directory.
func TestFileAccess(t *testing.T) {
	r := start(t, setup{launch: control.Launch{FS: true, Permission: "allow-read"}})
	r.ready()
	dir := filepath.Dir(r.socket)
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("in the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.send("1", "FS "+filepath.Join(dir, "a"))
	r.idle(1)
	r.shows(`"content":"in the file"`)
	r.send("2", "FS "+filepath.Join(dir, "b")+" written")
	st := r.until("asked", func(s control.State) bool { return s.Pending != nil })
	if err := r.Respond(t.Context(), control.Answer{RequestID: st.Pending.RequestID, Option: "Allow"}); err != nil {
		t.Fatal(err)
	}
	r.idle(2)
	if b, err := os.ReadFile(filepath.Join(dir, "b")); string(b) != "written" {
		t.Errorf("%q, %v", b, err)
	}
	r.send("3", "FS "+filepath.Join(dir, "new"))
	r.idle(3)
	r.shows(`"code":-32002`)
	r.send("4", "FS /etc/hosts written") // nobody is asked about what is refused anyway
	r.idle(4)
	r.shows("the path is not below the work directory")
	off := start(t, setup{})
	off.ready()
	off.send("1", "FS "+filepath.Join(dir, "a"))
	off.idle(1)
	off.shows("method not found")
}

func TestSetMode(t *testing.T) {
	r := start(t, setup{})
	r.ready()
	if err := r.Set(t.Context(), "Auto", ""); err != nil {
		t.Fatal(err)
	}
	if st, err := r.State(t.Context()); err != nil || st.Mode != "auto" {
		t.Errorf("%+v, %v", st, err)
	}
	var e *control.Error
	if err := r.Set(t.Context(), "", "big"); !errors.As(err, &e) {
		t.Errorf("a model that does not exist: %v", err)
	}
}

// A mode that was chosen while the agent ran belongs to its conversation: a later host
// sets it again, unless the conversation is new, the config says otherwise by then, or
// the agent has it no longer.
func TestChosenModeLasts(t *testing.T) {
	t.Parallel()
	const resumes = `{"protocolVersion":1,"agentCapabilities":{"sessionCapabilities":{"resume":{}}}}`
	r := start(t, setup{})
	st := r.ready()
	if err := r.Set(t.Context(), "Auto", ""); err != nil {
		t.Fatal(err)
	}
	if err := r.End(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
		t.Fatal(err)
	}
	<-r.ended
	for _, c := range []struct {
		name   string
		launch control.Launch
		env    []string
		mode   string
	}{
		{"resumed", control.Launch{ResumeID: st.Conversation}, nil, "auto"},
		{"again", control.Launch{ResumeID: st.Conversation}, nil, "auto"},
		{"another mode in the config", control.Launch{ResumeID: st.Conversation, Mode: "ask"}, nil, "ask"},
		{"no such mode any more", control.Launch{ResumeID: st.Conversation}, []string{"GC_TEST_OTHERMODE=yolo"}, "ask"},
		{"another conversation", control.Launch{ResumeID: "other"}, nil, "ask"},
		{"a new conversation", control.Launch{}, nil, "ask"},
	} {
		c.launch.Dir = r.dir
		next := start(t, setup{launch: c.launch, hello: resumes, env: c.env})
		if st := next.ready(); st.Mode != c.mode {
			t.Errorf("%s: mode %s, want %s", c.name, st.Mode, c.mode)
		}
		if err := next.End(t.Context()); err != nil && !errors.Is(err, control.ErrLost) {
			t.Fatal(err)
		}
		<-next.ended
	}
}

// The tokens of a turn are also known from an agent that tells those of each request to
// its model beside an update.
func TestTokensOfATurn(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	const update = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"x"},"_meta":{"usage":{"inputTokens":7,"outputTokens":2}}}}}`
	r.send("1", "RAWLINES "+update+"\n"+update+"\n"+`{"jsonrpc":"2.0","id":@,"result":{"stopReason":"end_turn"}}`)
	if st := r.idle(1); st.LastTurn.Input != 14 || st.LastTurn.Output != 4 {
		t.Errorf("%+v", st.LastTurn)
	}
}

// An agent without a configuration option for its model may have the older request.
func TestSetModel(t *testing.T) {
	t.Parallel()
	r := start(t, setup{env: []string{`GC_TEST_MODELS=,"models":{"currentModelId":"small","availableModels":[{"modelId":"small","name":"Small"},{"modelId":"big","name":"Big one"}]}`}})
	r.ready()
	if err := r.Set(t.Context(), "", "big one"); err != nil {
		t.Fatal(err)
	}
	if st, err := r.State(t.Context()); err != nil || st.Model != "big" {
		t.Errorf("%+v, %v", st, err)
	}
	r.shows("model big")
}

// A question shows the arguments of a tool that names no command.
func TestQuestionShowsTheArguments(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", `REQUEST session/request_permission {"sessionId":"s1","toolCall":{"toolCallId":"x","title":"mcp__db__query","kind":"other","rawInput":{"sql":"drop table x"}},"options":[{"optionId":"a","name":"Yes","kind":"allow_once"}]}`)
	st := r.until("blocked", func(s control.State) bool { return s.Pending != nil })
	if want := `mcp__db__query: {"sql":"drop table x"}`; st.Pending.Prompt != want || st.Pending.Metadata["input"] != `{"sql":"drop table x"}` {
		t.Errorf("%+v, want %q", st.Pending, want)
	}
	r.shows(`? other mcp__db__query: {"sql":"drop table x"}`)
}

// An MCP server whose transport the agent lacks is named, once.
func TestServersThatTheAgentCannotUse(t *testing.T) {
	t.Parallel()
	r := start(t, setup{launch: control.Launch{MCPServers: []control.MCPServer{{Name: "old", Type: "sse", URL: "http://127.0.0.1:1/sse"}}}})
	st := r.ready()
	const line = "MCP server old: the agent has no transport sse"
	r.shows(line)
	if n := strings.Count(r.text(), line); n != 1 {
		t.Errorf("%d times:\n%s", n, r.text())
	}
	if st.Notice != line {
		t.Errorf("notice %q", st.Notice)
	}
}

func TestBurst(t *testing.T) {
	t.Parallel()
	r := start(t, setup{})
	r.ready()
	r.send("m", "BURST 20000")
	r.idle(1)
	n := 0
	transcript.Read(r.dir, 0, func(e transcript.Entry) error {
		if e.Kind == "message" {
			n += len(strings.Fields(e.Text))
		}
		return nil
	})
	if n != 20000 {
		t.Errorf("%d of 20000 updates in the transcript", n)
	}
}
