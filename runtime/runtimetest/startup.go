package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

var startCases = []testCase{
	{name: "pre-start commands run first and in order", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		t.start(runtime.Config{
			WorkDir: dir, PreStart: []string{"echo one > log", "echo two >> log"},
			Command: "echo command >> log; mv log done; exec cat",
		})
		if got := t.file(filepath.Join(dir, "done")); got != "one\ntwo\ncommand" {
			t.Fatalf("%q", got)
		}
	}},
	{name: "a pre-start command that fails aborts", needs: []need{programs}, test: func(t *T) {
		name, dir := t.name(), t.TempDir()
		err := t.P.Start(t.Ctx, name, runtime.Config{
			WorkDir: dir, PreStart: []string{"echo no such luck >&2; exit 9"}, Command: "touch ran; exec cat",
		})
		if err == nil || !strings.Contains(err.Error(), "no such luck") {
			t.Errorf("start: %v", err)
		}
		t.noneLeft(name)
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Error("the command ran")
		}
	}},
	{name: "a pre-start command that hangs ends with the deadline", needs: []need{programs}, test: func(t *T) {
		name := t.name()
		ctx, cancel := context.WithTimeout(t.Ctx, 200*time.Millisecond)
		defer cancel()
		begin := time.Now()
		err := t.P.Start(ctx, name, runtime.Config{WorkDir: t.TempDir(), PreStart: []string{"sleep 1000"}, Command: "exec cat"})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 5*time.Second {
			t.Errorf("start: %v after %v", err, time.Since(begin))
		}
		t.noneLeft(name)
	}},
	{name: "setup commands know the session", needs: []need{programs}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{
			WorkDir: dir, Command: "exec cat", Env: map[string]string{"GC_AGENT": "mayor"},
			SessionSetup:       []string{"echo $GC_SESSION $GC_AGENT > setup"}, // in a box they have all variables of the agent
			SessionSetupScript: t.script("setup.sh", "#!/bin/sh\necho script >> setup\n"),
			SessionLive:        []string{"echo live >> setup"},
		})
		t.holds(filepath.Join(dir, "setup"), name+" mayor\nscript\nlive\n")
		t.must(t.P.RunLive(t.Ctx, name, runtime.Config{WorkDir: dir, SessionLive: []string{"echo again $GC_SESSION >> setup", "exit 3"}}))
		t.holds(filepath.Join(dir, "setup"), name+" mayor\nscript\nlive\nagain "+name+"\n")
	}},
	{name: "setup commands that fail do not fail the start", needs: []need{programs}, test: func(t *T) {
		t.running(t.start(runtime.Config{Command: "exec cat", SessionSetup: []string{"exit 1"}}), true)
	}},
	{name: "live commands of a missing session are nil", test: func(t *T) {
		t.must(t.P.RunLive(t.Ctx, t.name(), runtime.Config{SessionLive: []string{"exit 1"}}))
	}},
	{name: "the error of a session that dies during startup has status and screen", needs: []need{programs, tree, terminal}, test: func(t *T) {
		name := t.name()
		err := t.P.Start(t.Ctx, name, runtime.Config{
			WorkDir: t.TempDir(), Command: "echo bad flag; exit 5", ProcessNames: []string{"agent"},
		})
		var dead *runtime.StartupDeath
		if !errors.Is(err, runtime.ErrSessionDiedDuringStartup) || !errors.As(err, &dead) || dead.Code != 5 {
			t.Fatalf("start: %v", err)
		}
		if t.P.Capabilities().LastWords && !strings.Contains(dead.Screen, "bad flag") {
			t.Errorf("screen %q", dead.Screen)
		}
		t.noneLeft(name)
	}},
	{name: "a command that is not found dies with status 127", needs: []need{programs, tree, terminal}, test: func(t *T) {
		name := t.name()
		err := t.P.Start(t.Ctx, name, runtime.Config{
			WorkDir: t.TempDir(), Command: "no-such-agent --flag", ProcessNames: []string{"no-such-agent"},
		})
		var dead *runtime.StartupDeath
		if !errors.As(err, &dead) || dead.Code != 127 {
			t.Fatalf("start: %v", err)
		}
		if t.P.Capabilities().LastWords && !strings.Contains(dead.Screen, "not found") {
			t.Errorf("screen %q", dead.Screen)
		}
	}},
	{name: "start returns when the process is alive", needs: []need{programs, tree, terminal}, test: func(t *T) {
		agent := t.script("slow-agent", "#!/bin/sh\necho up\nsleep 1000\nexit\n")
		name := t.start(runtime.Config{Command: "sleep 0.2; exec " + agent, ProcessNames: []string{"slow-agent"}})
		if ok, err := t.P.ProcessAlive(t.Ctx, name, []string{"slow-agent"}); !ok || err != nil {
			t.Fatalf("%v, %v", ok, err)
		}
	}},
	{name: "bounded work may end during the start", needs: []need{programs, terminal}, test: func(t *T) {
		t.ends(t.start(runtime.Config{
			Command: "exit 0", Lifecycle: runtime.OneShot, ProcessNames: []string{"worker"}, ReadyPromptPrefix: "> ",
		}))
	}},
	{name: "the nudge is typed when the prompt is there", needs: []need{programs, keys}, test: func(t *T) {
		dir := t.TempDir()
		t.start(runtime.Config{
			WorkDir: dir, ReadyPromptPrefix: "agent> ", Nudge: "first task",
			Command: "sleep 0.3; echo welcome; printf 'agent> '; read x; echo \"$x\" > task; exec cat",
		})
		if got := t.file(filepath.Join(dir, "task")); got != "first task" {
			t.Fatalf("task %q", got)
		}
	}},
	{name: "the prompt becomes an argument", needs: []need{programs, terminal}, test: func(t *T) {
		dir := t.TempDir()
		t.start(runtime.Config{
			WorkDir: dir, Command: t.script("agent", "#!/bin/sh\nfor a; do echo \"<$a>\"; done > args.new; mv args.new args; exec cat\n") + " -y",
			PromptFlag: "--prompt", PromptSuffix: shell.Quote("[city] it's $HOME\nline two"),
		})
		if got := t.file(filepath.Join(dir, "args")); got != "<-y>\n<--prompt>\n<[city] it's $HOME\nline two>" {
			t.Fatalf("%q", got)
		}
	}},
	{name: "a deadline that passes leaves nothing behind", needs: []need{programs, keys}, test: func(t *T) {
		name := t.name()
		ctx, cancel := context.WithCancel(t.Ctx)
		defer cancel()
		done := make(chan error, 1)
		dir := t.TempDir()
		go func() {
			done <- t.P.Start(ctx, name, runtime.Config{WorkDir: dir, Command: "echo up > up; exec cat", ReadyPromptPrefix: "never"})
		}()
		t.file(filepath.Join(dir, "up"))
		cancel()
		err := <-done
		if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "clean up") {
			t.Errorf("start: %v", err)
		}
		t.noneLeft(name)
	}},
}

// dialogAgent asks a question with two options, follows the arrow keys, logs every
// key, and continues only after the first label was confirmed. Arguments: the
// preselected option (0 or 1), the question, the two labels.
const dialogAgent = `#!/bin/bash
sel=$1 question=$2 labels=("$3" "$4")
stty -echo -icanon
paint() {
	printf '\033[H\033[2J %s\n\n' "$question"
	for i in 0 1; do
		mark=' '; [ $i = $sel ] && mark='❯'
		printf ' %s %d. %s\n' "$mark" $((i+1)) "${labels[$i]}"
	done
	printf '\n Enter to confirm · Esc to cancel\n'
}
paint
while IFS= read -rsn1 k; do
	if [ "$k" = $'\e' ]; then read -rsn2 -t 2 k; fi
	echo "key:$k" >> keys
	case $k in
	'[A') sel=0 ;;
	'[B') sel=1 ;;
	'') break ;;
	esac
	paint
done
echo "${labels[$sel]}" > answer
printf '\033[H\033[2J❯ \n'
exec cat
`

// dialog starts the agent with a dialog and returns the work dir.
func (t *T) dialog(name string, preselected int, question, first, second string) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	line := t.script("dialog-agent", dialogAgent)
	for _, arg := range []string{fmt.Sprint(preselected), question, first, second} {
		line += " " + shell.Quote(arg)
	}
	return dir, t.P.Start(t.Ctx, name, runtime.Config{WorkDir: dir, Command: line, ReadyPromptPrefix: "❯ "})
}

func trustDialog(preselected int) testCase {
	return testCase{
		name:  fmt.Sprintf("a trust dialog with option %d preselected is accepted", preselected+1),
		needs: []need{programs, keys, exactPeek},
		test: func(t *T) {
			dir, err := t.dialog(t.name(), preselected, "Quick safety check: is this a project you trust?", "Yes, I trust this folder", "No, exit")
			t.must(err)
			if got := t.file(filepath.Join(dir, "answer")); got != "Yes, I trust this folder" {
				t.Fatalf("answered %q", got)
			}
		},
	}
}

var dialogCases = []testCase{
	trustDialog(0),
	trustDialog(1),
	{name: "a warning that preselects the exit is accepted", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		dir, err := t.dialog(t.name(), 0, "WARNING: running in Bypass Permissions mode", "No, exit", "Yes, I accept")
		t.must(err)
		if got := t.file(filepath.Join(dir, "answer")); got != "Yes, I accept" {
			t.Fatalf("answered %q", got)
		}
	}},
	{name: "an unknown dialog gets no key and its screen is shown", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		name := t.name()
		dir, err := t.dialog(name, 0, "Shall everything be deleted?", "Yes, all of it", "No, nothing")
		if !errors.Is(err, runtime.ErrStartupBlocked) || !strings.Contains(screenOf(err), "Shall everything be deleted?") {
			t.Errorf("start: %v\n%s", err, screenOf(err))
		}
		for _, f := range []string{"keys", "answer"} {
			if data, err := os.ReadFile(filepath.Join(dir, f)); err == nil {
				t.Errorf("%s: %q", f, data)
			}
		}
		t.noneLeft(name)
	}},
	{name: "a dialog in the scrollback is not answered", needs: []need{programs, keys, exactPeek}, test: func(t *T) {
		dir := t.TempDir()
		var old strings.Builder
		old.WriteString("Quick safety check\n ❯ 1. Yes, I trust this folder\n   2. No, exit\n")
		for i := range 100 {
			fmt.Fprintln(&old, i+1)
		}
		name := t.start(runtime.Config{
			WorkDir: dir, ReadyPromptPrefix: "❯ ",
			Command: "stty raw -echo opost; cat " + t.put(t.TempDir(), "old", old.String()+"\n❯ ") + "; exec cat -v",
		})
		t.shows(name, "100")
		t.must(t.P.SendKeys(t.Ctx, name, "!"))
		t.shows(name, "❯ !")
	}},
}
