package exec_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/exec"
)

// bad is a script that answers wrongly. Every process that it starts carries the
// marker, and none may be left.
type bad struct {
	*exec.Provider
	dir  string
	path string
	mark string
}

// newBad writes a script from shell lines. Operations that they do not handle are not
// implemented.
func newBad(t *testing.T, lines string) *bad {
	t.Helper()
	t.Parallel()
	b := &bad{dir: t.TempDir()}
	b.path = filepath.Join(b.dir, "the-script")
	b.mark = "mark-" + filepath.Base(filepath.Dir(b.dir)) + strconv.Itoa(os.Getpid())
	if err := testenv.WriteProgram(b.path, []byte("#!/bin/bash\ncd "+b.dir+"\n"+lines+"\nexit 2\n")); err != nil {
		t.Fatal(err)
	}
	b.Provider = b.open(t, b.path)
	t.Cleanup(func() { b.nothingLeft(t) })
	return b
}

func (b *bad) open(t *testing.T, script string) *exec.Provider {
	t.Helper()
	p, err := exec.New(exec.Options{
		Script: script, Environ: append(os.Environ(), "GC_TEST_MARK="+b.mark), Timeout: 5 * time.Second, PeekLimit: 1 << 16,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// marked lists the live processes of the script.
func (b *bad) marked(t *testing.T) (pids []int) {
	t.Helper()
	all, err := proctree.Table()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if env, err := proctree.Environ(p.PID); err == nil && env["GC_TEST_MARK"] == b.mark && !p.Zombie() {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

func (b *bad) nothingLeft(t *testing.T) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond) // a killed process may take a moment
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for pids := b.marked(t); len(pids) > 0; pids = b.marked(t) {
		select {
		case <-tick.C:
		case <-late:
			t.Errorf("left behind: %v", pids)
			for _, pid := range pids {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
}

// cannotTell checks that an error names script and operation, is unreachable, and
// does not count as the end of a session.
func cannotTell(t *testing.T, err error, op string, texts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("%s gave no error", op)
	}
	for _, text := range append(texts, "the-script", op) {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error does not say %q: %v", text, err)
		}
	}
	if !errors.Is(err, runtime.ErrBackendUnreachable) || runtime.IsSessionGone(err) {
		t.Errorf("not \"cannot tell\": %v", err)
	}
}

func TestHang(t *testing.T) {
	b := newBad(t, `trap '' TERM; case $1 in is-running) sleep 1000 & sleep 1000;; esac`)
	begin := time.Now()
	_, err := b.IsRunning(t.Context(), "a")
	cannotTell(t, err, "is-running a", "5s")
	if took := time.Since(begin); took > 20*time.Second || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v after %v", err, took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = runtime.ObserveLiveness(ctx, b, "a", nil)
	cannotTell(t, err, "is-running a")
}

// A child that holds standard output, in its own session or not, delays nothing.
func TestChildHoldsOutput(t *testing.T) {
	b := newBad(t, `case $1 in
is-running) echo true; sleep 1000 & exit 0;;
process-alive) echo true; setsid sleep 1000 & echo $! > away; exit 0;;
esac`)
	begin := time.Now()
	if ok, err := b.IsRunning(t.Context(), "a"); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	b.nothingLeft(t)
	if ok, err := b.ProcessAlive(t.Context(), "a", []string{"x"}); !ok || err != nil {
		t.Errorf("%v, %v", ok, err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	data, err := os.ReadFile(filepath.Join(b.dir, "away"))
	if err != nil {
		t.Fatal(err)
	}
	// A process that left the group is out of reach; the test ends it.
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Errorf("process %s: %v", data, err)
	}
}

// The process that start leaves behind is the session, and stays.
func TestChildOfStartLives(t *testing.T) {
	b := newBad(t, `case $1 in
start) sleep 1000 & echo $! > pid;;
stop) kill "$(cat pid)"; rm -f pid;;
is-running) [ -e pid ] && echo true || echo false;;
*) exit 2;;
esac
exit 0`)
	if err := b.Start(t.Context(), "a", runtime.Config{WorkDir: b.dir}); err != nil {
		t.Fatal(err)
	}
	if pids := b.marked(t); len(pids) != 1 {
		t.Errorf("processes %v", pids)
	}
	if err := b.Stop(t.Context(), "a"); err != nil {
		t.Error(err)
	}
}

func TestFlood(t *testing.T) {
	b := newBad(t, `case $1 in is-running) exec yes;; list-running) yes >&2 & exec yes;; peek) head -c 65537 /dev/zero | tr '\0' x; exit;; esac`)
	_, err := b.IsRunning(t.Context(), "a")
	cannotTell(t, err, "is-running", "1048576 bytes")
	_, err = b.ListRunning(t.Context(), "")
	cannotTell(t, err, "list-running", "1048576 bytes")
	_, err = b.Peek(t.Context(), "a", 0)
	cannotTell(t, err, "peek", "65536 bytes")
}

func TestOddAnswers(t *testing.T) {
	for name, c := range map[string]struct{ script, text string }{
		"capital":   {`echo True; exit 0`, `"True\n"`},
		"yes":       {`echo yes; exit 0`, `"yes\n"`},
		"blank":     {`echo " true"; exit 0`, `" true\n"`},
		"nothing":   {`exit 0`, `""`},
		"both":      {`printf 'true\nfalse\n'; exit 0`, `"true\nfalse\n"`},
		"not UTF-8": {`printf 'tr\377ue'; exit 0`, `"tr\xffue"`},
		"escape":    {`printf '\033[31mtrue'; exit 0`, `\x1b`},
		"status 3":  {`echo out of order >&2; exit 3`, "out of order (exit status 3)"},
		"killed":    {`kill -KILL $$`, "exit status 137"},
		"127":       {`exec no-such-program-of-ours`, "exit status 127"},
		"old sh":    {`sh -c no-such-program-of-ours; exit 1`, "not found"},
		"no helper": {`echo 'jq: command not found' >&2; exit 1`, "jq: command not found"},
		"missing":   {`exit 2`, "not implemented"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBad(t, `case $1 in protocol) exit 2;; esac`+"\n"+c.script)
			_, err := b.IsRunning(t.Context(), "a")
			cannotTell(t, err, "is-running a", c.text)
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("not one clean line: %q", err)
			}
		})
	}
}

// Old scripts report a missing session in their own words; one with a handshake uses
// one sentence.
func TestPhrases(t *testing.T) {
	for name, c := range map[string]struct {
		protocol, message string
		gone              bool
	}{
		"the sentence, old": {"exit 2", "Session not found: a", true},
		"old phrase":        {"exit 2", "no tmux server running on /tmp/x", true},
		"not running":       {"exit 2", "a is not running", true},
		"the sentence":      {`echo '{"version":1}'; exit 0`, "a: session not found", true},
		"not its sentence":  {`echo '{"version":1}'; exit 0`, "a is not running", false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBad(t, `case $1 in protocol) `+c.protocol+`;; is-running|peek) echo `+shell.Quote(c.message)+` >&2; exit 1;; esac`)
			running, err := b.IsRunning(t.Context(), "a")
			if running || (err == nil) != c.gone {
				t.Errorf("%v, %v", running, err)
			}
			if _, err := b.Peek(t.Context(), "a", 0); errors.Is(err, runtime.ErrSessionNotFound) != c.gone {
				t.Errorf("peek: %v", err)
			}
		})
	}
}

func TestVanishingScript(t *testing.T) {
	b := newBad(t, `case $1 in is-running) echo true; exit 0;; esac`)
	if ok, err := b.IsRunning(t.Context(), "a"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := os.Remove(b.path); err != nil {
		t.Fatal(err)
	}
	_, err := b.IsRunning(t.Context(), "a")
	cannotTell(t, err, "is-running", "no such file")
	if !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	_, err = b.Nudge(t.Context(), "a", runtime.TextContent("x"))
	cannotTell(t, err, "nudge")
	if err := b.Start(t.Context(), "b", runtime.Config{}); !strings.Contains(err.Error(), "the-script: protocol") {
		t.Error(err)
	}
}

func TestSelection(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for script, want := range map[string]string{
		"": "no script is named", filepath.Join(dir, "none"): "no such file", plain: "not executable",
		dir: "directory", "no-such-name-on-path": "not found",
	} {
		_, err := exec.New(exec.Options{Script: script})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), strconv.Quote(script)) {
			t.Errorf("%q: %v", script, err)
		}
	}
}

func TestValuesHoldAnyBytes(t *testing.T) {
	b := newBad(t, `case $1 in
set-meta) cat > "value-$3"; exit;;
get-meta) cat "value-$3"; exit;;
protocol) echo '{"version":9,"capabilities":["exact-meta","something-new"],"more":{}}'; exit;;
esac`)
	for _, value := range []string{"a\nb\n", "\x00\x00", "\n", "", "\xff\xfe", "-n", strings.Repeat("x\n", 1<<18)} {
		if err := b.SetMeta(t.Context(), "a", "k", value); err != nil {
			t.Error(err)
		}
		if got, err := b.GetMeta(t.Context(), "a", "k"); got != value || err != nil {
			t.Errorf("%.20q became %.20q, %v", value, got, err)
		}
	}
	// A script need not read its input, however long it is.
	if err := b.SetMeta(t.Context(), "a", "a\x00b", "x"); err == nil {
		t.Error("a key with NUL was taken")
	}
	for _, name := range []string{"", "-a", "a\nb", "a\x00b"} {
		if ok, err := b.IsRunning(t.Context(), name); ok || err != nil {
			t.Errorf("%q: %v, %v", name, ok, err)
		}
		if err := b.SetMeta(t.Context(), name, "k", "v"); !errors.Is(err, runtime.ErrBadName) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestUnreadInput(t *testing.T) {
	b := newBad(t, `case $1 in set-meta) exit 0;; nudge) exit 2;; esac`)
	if err := b.SetMeta(t.Context(), "a", "k", strings.Repeat("x", 4<<20)); err != nil {
		t.Error(err)
	}
	if r, err := b.Nudge(t.Context(), "a", runtime.TextContent("x")); r.State != runtime.Refused || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestVariablesThatJSONCannotCarry(t *testing.T) {
	b := newBad(t, `case $1 in is-running) echo false; exit;; start) touch started; exit;; esac`)
	err := b.Start(t.Context(), "a", runtime.Config{Env: map[string]string{"X": "\xff"}})
	if err == nil || !strings.Contains(err.Error(), `variable "X" is not UTF-8`) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "started")); err == nil {
		t.Error("it was started")
	}
}

// A start that is cut short, refused or lost to another one leaves nothing.
func TestStartFailures(t *testing.T) {
	script := `echo "$1" >> log
case $1 in
is-running) echo false;;
start) case $2 in temporary) exit 75;; taken) echo "$2 already exists" >&2; exit 1;; missing) exit 2;; hangs) sleep 1000;; *) exit 9;; esac;;
stop) ;;
*) exit 2;;
esac
exit`
	b := newBad(t, script)
	for name, want := range map[string]error{
		"temporary": runtime.ErrSessionInitializing, "taken": runtime.ErrSessionExists,
		"missing": runtime.ErrUnsupported, "hangs": context.DeadlineExceeded,
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if name == "hangs" {
			ctx, cancel = context.WithTimeout(t.Context(), 4*time.Second)
		}
		if err := b.Start(ctx, name, runtime.Config{}); !errors.Is(err, want) || !strings.Contains(err.Error(), "the-script: start "+name) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	log, err := os.ReadFile(filepath.Join(b.dir, "log"))
	if err != nil || strings.Count(string(log), "stop\n") != 1 {
		t.Errorf("want one stop, after the start that hung: %v\n%s", err, log)
	}
	if n := strings.Count(string(log), "protocol\n"); n != 1 {
		t.Errorf("the handshake was asked %d times", n)
	}
}

func TestOldScriptHasDefaults(t *testing.T) {
	b := newBad(t, `case $1 in is-running) echo true; exit;; peek) printf '\033]0;title\007red \033[1;31mtext\033[0m\377\n\n'; exit;; nudge) cat > nudged; exit;; esac`)
	ctx := t.Context()
	if c := b.Capabilities(); !c.Attach || !c.Keys || c.Activity || c.AttachDetection || c.Exec || c.ExactPeek {
		t.Errorf("%+v", c)
	}
	if text, err := b.Peek(ctx, "a", 5); text != "red text\uFFFD" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if ok, err := b.ProcessAlive(ctx, "a", []string{"x"}); !ok || err != nil {
		t.Errorf("process-alive falls back to is-running: %v, %v", ok, err)
	}
	if r, err := b.Nudge(ctx, "a", runtime.TextContent("hello")); r.State != runtime.Unverified || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if names, err := b.ListRunning(ctx, ""); len(names) > 0 || !errors.Is(err, runtime.ErrUnsupported) {
		t.Errorf("no list is not an empty one: %q, %v", names, err)
	}
	if at, err := b.GetLastActivity(ctx, "a"); !at.IsZero() || err != nil {
		t.Errorf("%v, %v", at, err)
	}
	if v, err := b.GetMeta(ctx, "a", "k"); v != "" || err != nil {
		t.Errorf("%q, %v", v, err)
	}
	for what, err := range map[string]error{
		"set-meta": b.SetMeta(ctx, "a", "k", "v"), "copy-to": b.CopyTo(ctx, "a", b.path, "x"), "run-live": b.RunLive(ctx, "a", runtime.Config{}),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, _, err := b.Exec(ctx, "a", []string{"true"}); !errors.Is(err, runtime.ErrExecUnsupported) {
		t.Error(err)
	}
	if err := b.Stop(ctx, "a"); !errors.Is(err, runtime.ErrUnsupported) {
		t.Errorf("a script that cannot stop: %v", err)
	}
}

// The nudge of a start is typed once, by the script if it declares that.
func TestStartNudge(t *testing.T) {
	script := `case $1 in
protocol) [ -e old ] && exit 2; echo '{"version":1,"capabilities":["start-nudge"]}';;
is-running) [ -e up ] && echo true || echo false;;
start) cat > config; touch up;;
nudge) cat >> nudges;;
*) exit 2;;
esac
exit 0`
	for _, old := range []bool{true, false} {
		t.Run(strconv.FormatBool(old), func(t *testing.T) {
			b := newBad(t, script)
			if old {
				if err := os.WriteFile(filepath.Join(b.dir, "old"), nil, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := b.Start(t.Context(), "a", runtime.Config{Nudge: "do it"}); err != nil {
				t.Fatal(err)
			}
			config, err := os.ReadFile(filepath.Join(b.dir, "config"))
			if err != nil || strings.Contains(string(config), "do it") == old {
				t.Errorf("%s, %v", config, err)
			}
			nudges, err := os.ReadFile(filepath.Join(b.dir, "nudges"))
			if old != (err == nil && string(nudges) == "do it") {
				t.Errorf("nudges %q, %v", nudges, err)
			}
		})
	}
}

// reporting is a provider over the script that records the steps of its starts.
func (b *bad) reporting(t *testing.T, steps *[]runtime.Step) *exec.Provider {
	t.Helper()
	p, err := exec.New(exec.Options{Script: b.path, Report: func(s runtime.Step) { *steps = append(*steps, s) }})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A failed live command is a warning, which is reported.
func TestRunLiveWarns(t *testing.T) {
	b := newBad(t, `case $1 in is-running) echo true; exit 0;; esac`)
	var steps []runtime.Step
	p := b.reporting(t, &steps)
	if err := p.RunLive(t.Context(), "a", runtime.Config{SessionLive: []string{"echo no good; exit 3"}}); err != nil {
		t.Fatal(err)
	}
	if len(steps) != 1 || !steps[0].Warning || steps[0].Err == nil || !strings.Contains(steps[0].Err.Error(), "no good") {
		t.Fatalf("%+v", steps)
	}
}

// Capabilities are queried within the caller's context.
func TestCapabilitiesOfAScriptThatHangs(t *testing.T) {
	b := newBad(t, `case $1 in protocol) sleep 1000;; esac`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := runtime.CapabilitiesFor(ctx, b, "a")
	cannotTell(t, err, "protocol")
	if c := b.Capabilities(); !c.Attach || c.Exec {
		t.Errorf("%+v", c)
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
}

// Without a receipt the screen decides the outcome of a nudge.
func TestNudgeIsSeenByPeek(t *testing.T) {
	b := newBad(t, `case $1 in
is-running) echo true; exit 0;;
nudge) cat > typed; [ "$2" = mute ] || { printf 'ask> '; cat typed; printf '\nyou said '; cat typed; printf '\nask> \n'; } > screen; exit 0;;
peek) cat screen 2>/dev/null; exit 0;;
esac`)
	if r, err := b.Nudge(t.Context(), "a", runtime.TextContent("hello there")); err != nil || r.State != runtime.Submitted {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.Nudge(t.Context(), "mute", runtime.TextContent("something else")); err != nil || r.State != runtime.Unverified {
		t.Errorf("%+v, %v", r, err)
	}
}

// Operations that a script lacks are not reported as done.
func TestMissingInputIsUnsupported(t *testing.T) {
	b := newBad(t, `case $1 in is-running) echo true; exit 0;; esac`)
	ctx := t.Context()
	for what, err := range map[string]error{
		"keys": b.SendKeys(ctx, "a", "Enter"), "interrupt": b.Interrupt(ctx, "a"), "clear": b.ClearScrollback(ctx, "a"),
	} {
		if !errors.Is(err, runtime.ErrUnsupported) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
