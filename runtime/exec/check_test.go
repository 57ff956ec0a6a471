package exec_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime/exec/check"
)

// checked runs the check on a backend's script.
func (b *backend) checked(t *testing.T, only string, effect time.Duration) []check.Result {
	t.Helper()
	results, err := check.Run(t.Context(), check.Options{Script: b.script, Environ: b.env, Only: only, Effect: effect})
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// lacks checks that a script passes every rule except those of operations that it
// lacks.
func lacks(t *testing.T, results []check.Result, missing ...string) {
	t.Helper()
	got := map[string]bool{}
	for _, r := range results {
		switch r.Outcome {
		case check.Fault:
			t.Errorf("%s: %s: %s\nby hand: %s", r.Operation, r.Rule, r.Detail, r.Call)
		case check.Missing:
			got[r.Operation] = true
			if r.Advice == "" {
				t.Errorf("%s: nothing is said of callers", r.Operation)
			}
		}
	}
	for _, op := range missing {
		if !got[op] {
			t.Errorf("%s is not missing", op)
		}
		delete(got, op)
	}
	for op := range got {
		t.Errorf("%s is missing", op)
	}
}

const patience = 20 * time.Second

// gc session-op serves a caller that knows nothing of gc, with and without a box.
func TestSessionOpIsChecked(t *testing.T) {
	t.Parallel()
	b := newNative(t)
	lacks(t, b.checked(t, "", patience))
	b.env = append(b.env, "GC_SESSION_OP_CAPABILITIES=")
	results := b.checked(t, "", patience)
	lacks(t, results)
	skipped := 0
	for _, r := range results {
		if r.Outcome == check.Skipped {
			skipped++
		}
	}
	if skipped != 2 {
		t.Errorf("without a box exec and provision are not declared: %d rules skipped", skipped)
	}
}

func TestScreenScriptIsChecked(t *testing.T) {
	t.Parallel()
	b := newScreen(t)
	lacks(t, b.checked(t, "", patience), "wait-idle")
}

func TestMinimalScriptIsChecked(t *testing.T) {
	t.Parallel()
	testenv.Need(t, "jq", "setsid")
	b := newBackend(t, contrib(t, "gc-session-minimal"))
	lacks(t, b.checked(t, "", patience), "protocol", "process-alive", "get-last-activity", "clear-scrollback", "attach",
		"is-attached", "nudge", "send-keys", "set-meta", "get-meta", "run-live", "copy-to", "wait-idle")
}

// over returns a script in front of gc session-op. Its lines see "$@" and gc.
func (b *backend) over(t *testing.T, lines string) *backend {
	t.Helper()
	path := filepath.Join(t.TempDir(), "over")
	text := "#!/bin/bash\ngc() { \"$GC_BIN\" session-op \"$@\"; }\nat=$GC_EXEC_STATE_DIR; mkdir -p \"$at\"\n" + lines + "\nexec \"$GC_BIN\" session-op \"$@\"\n"
	if err := testenv.WriteProgram(path, []byte(text)); err != nil {
		t.Fatal(err)
	}
	return &backend{env: b.env, script: path}
}

// The smallest script has no fault: the operations that it lacks are missing.
func TestSmallestScriptIsChecked(t *testing.T) {
	t.Parallel()
	b := newNative(t).over(t, `case $1 in start | stop | is-running) ;; *) exit 2 ;; esac`)
	lacks(t, b.checked(t, "", patience), "protocol", "interrupt", "list-running", "peek", "process-alive", "get-last-activity",
		"clear-scrollback", "attach", "is-attached", "nudge", "send-keys", "set-meta", "get-meta", "run-live", "copy-to", "wait-idle")
}

// A start that runs nothing is reported once, without waiting for every other rule.
func TestBrokenStartIsReportedOnce(t *testing.T) {
	t.Parallel()
	faults, skipped := 0, 0
	b := newBackend(t, contrib(t, "gc-session-minimal"))
	for _, r := range b.over(t, `case $1 in start) cat >/dev/null; exit;; is-running) echo false; exit;; stop) exit;; *) exit 2;; esac`).checked(t, "", time.Second) {
		switch {
		case r.Outcome == check.Fault:
			faults++
		case r.Outcome == check.Skipped && strings.Contains(r.Detail, "start does not run its command"):
			skipped++
		}
	}
	if faults != 1 || skipped < 5 {
		t.Errorf("%d faults, %d rules skipped for want of a session", faults, skipped)
	}
}

// The check finds each fault that was ever found in a script, by the rule for it.
func TestCheckFindsFaults(t *testing.T) {
	t.Parallel()
	b := newNative(t)
	for name, c := range map[string]struct{ op, lines, rule, detail string }{
		"an operation that is not there succeeds": {"protocol", `[[ $1 != no-such* ]] || exit 0`, "unknown operation exits with 2", "exit status 0"},
		"no handshake":                 {"protocol", `[[ $1 != protocol ]] || { echo hello; exit; }`, "prints a handshake", "not a handshake"},
		"no is-running":                {"is-running", `[[ $1 != is-running ]] || exit 2`, "never started", "exit status 2"},
		"a word that is not an answer": {"is-running", `[[ $1 != is-running ]] || { echo no; exit; }`, "never started", `"no\n" instead of "false"`},
		"an end is not seen":           {"is-running", `[[ $1 != is-running || ! -e $at/$2 ]] || { echo true; exit; }; [[ $1 != start ]] || touch "$at/$2"`, "a program that ended", `"true`},
		"a second start succeeds":      {"start", `[[ $1 != start ]] || { gc "$@" 2>/dev/null; exit 0; }`, "already exists", "exit status 0"},
		"standard output is held":      {"start", `[[ $1 != start ]] || { sleep 20 & }`, "runs the command", "holds its standard output"},
		"variables are lost":           {"start", `[[ $1 != start ]] || { jq -c '.env.GC_CHECK_ODD = "x"' | gc "$@"; exit; }`, "work_dir with env", "odd="},
		"the caller's id is its own": {"start", `id=$at/id; case $1 in
start) c=$(cat); i=$(jq -r '.env.GC_SESSION_ID // empty' <<< "$c"); [[ -z $i || ! -e $at/$i ]] || { echo "$i already exists" >&2; exit 1; }
	[[ -z $i ]] || touch "$at/$i"; gc "$@" <<< "$c"; exit ;;
stop) rm -f "$at"/[0-9] ;; esac`, "same GC_SESSION_ID", "already exists"},
		"a stop by id": {"stop", `case $1 in start) c=$(cat); i=$(jq -r '.env.GC_SESSION_ID // empty' <<< "$c"); [[ -z $i ]] || echo "$2" >> "$at/of.$i"; gc "$@" <<< "$c"; exit ;;
stop) for f in $(grep -ls "^$2$" "$at"/of.*); do for n in $(< "$f"); do gc stop "$n"; done; done ;; esac`, "no other session with the same GC_SESSION_ID", "is-running"},
		"a box on the host":                  {"provision", `case $1 in provision) tee "$at/box" | gc "$@"; exit;; exec) cd "$(jq -r .work_dir "$at/box")"; exec sh;; esac`, "stop ends what", "keeps running after stop"},
		"a stop that fails":                  {"stop", `[[ $1 != stop || $(gc is-running "$2") = true ]] || { echo "session not found" >&2; exit 1; }`, "without such a session", "exit status 1"},
		"an empty list":                      {"list-running", `[[ $1 != list-running ]] || exit 0`, "lists the running", "printed []"},
		"everybody's list":                   {"list-running", `unset GC_CITY; export GC_CITY_PATH=$0`, "does not list other", "it lists"},
		"everybody's stop":                   {"stop", `unset GC_CITY; export GC_CITY_PATH=$0`, "of another city", "after a stop by another city"},
		"a peek of nothing":                  {"peek", `[[ $1 != peek ]] || exit 0`, "without a session", "must fail"},
		"the screen is everything":           {"peek", `[[ $1 != peek || $3 != screen ]] || { gc peek "$2" 0; exit; }`, "only the live screen", "after 200 lines"},
		"the last screen is lost":            {"peek", `[[ $1 != peek || $(gc is-running "$2") = true ]] || { echo "session not found" >&2; exit 1; }`, "last screen", "session not found"},
		"a scrollback that stays":            {"clear-scrollback", `[[ $1 != clear-scrollback || $(gc is-running "$2") != true ]] || exit 0`, "drops the scrollback", "line 1."},
		"a value that is trimmed":            {"get-meta", `[[ $1 != get-meta ]] || { printf %s "$(gc "$@")"; exit; }`, "newlines at the end", "became"},
		"a copy that is not made":            {"copy-to", `[[ $1 != copy-to ]] || exit 0`, "below the work dir", "no such file"},
		"a relaunch that does nothing":       {"relaunch", `[[ $1 != relaunch ]] || exit 0`, "another command", "again 1 added"},
		"a message that is lost":             {"nudge", `[[ $1 != nudge ]] || { cat >/dev/null; exit; }`, "types the message", "got: say"},
		"a message that arrives twice":       {"nudge", `[[ $1 != nudge ]] || { m=$(cat); gc "$@" <<< "$m" >/dev/null; gc "$@" <<< "$m"; exit; }`, "once", "two messages arrived as"},
		"a receipt that is not true":         {"nudge", `[[ $1 != nudge ]] || { cat >/dev/null; echo '{"state":"submitted"}'; exit; }`, "true receipt", "got: seen"},
		"nobody can see what became of it":   {"nudge", `case $1 in nudge) gc "$@" >/dev/null; exit;; peek) exit 2;; esac`, "true receipt", "no receipt, and no peek"},
		"a message to nobody fails":          {"nudge", `[[ $1 != nudge || $(gc is-running "$2") = true ]] || { echo "session not found" >&2; exit 1; }`, "without a session", "exit status 1"},
		"a message to nobody is unreported":  {"nudge", `[[ $1 != nudge || $(gc is-running "$2") = true ]] || exit 0`, "without a session", "session not found"},
		"keys to nobody fail":                {"send-keys", `[[ $1 != send-keys || $(gc is-running "$2") = true ]] || { echo "session not found" >&2; exit 1; }`, "without a session", "exit status 1"},
		"Enter after the keys":               {"send-keys", `[[ $1 != send-keys ]] || { gc "$@" Enter; exit; }`, "no Enter", "got: abc"},
		"clearing no session fails":          {"clear-scrollback", `[[ $1 != clear-scrollback ]] || { echo "session not found" >&2; exit 1; }`, "without a session", "exit status 1"},
		"metadata that outlives its session": {"set-meta", `case $1 in set-meta) cat > "$at/$2.$3"; exit;; get-meta) cat "$at/$2.$3" 2>/dev/null; exit 0;; remove-meta) rm -f "$at/$2.$3"; exit;; esac`, "until stop", "after stop and start"},
		"a config that is dropped":           {"start", `[[ $1 != start ]] || { jq -c '{work_dir, command, env}' | gc "$@"; exit; }`, "does what the start config says", "dropped silently: copy_files, overlay_dir, pack_overlay_dirs, pre_start"},
		"a nudge of the start that is lost":  {"start", `[[ $1 != start ]] || { jq -c 'del(.nudge)' | gc "$@"; exit; }`, "does what the start config says", "dropped silently: nudge"},
		"a pre-start that fails":             {"start", `[[ $1 != start ]] || { jq -c 'if .pre_start then .pre_start[0] |= "(\(.)); true" else . end' | gc "$@"; exit; }`, "pre_start command fails", "start succeeded"},
		"live commands do not run":           {"run-live", `[[ $1 != run-live ]] || exit 0`, "again", "did not run"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(c.lines, "jq") {
				testenv.Need(t, "jq")
			}
			for _, r := range b.over(t, c.lines).checked(t, c.op, 2*time.Second) {
				if r.Outcome == check.Fault && strings.Contains(r.Rule, c.rule) {
					if !strings.Contains(r.Detail, c.detail) || r.Call == "" || r.Advice == "" {
						t.Errorf("%+v", r)
					}
					return
				}
			}
			t.Error("the fault is not found")
		})
	}
}
