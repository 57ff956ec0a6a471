package server

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// startReceiver runs the composer and returns the file with what it submitted.
func startReceiver(t *testing.T, c *client.Client, name, mode string) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir() + "/out"
	_, err = c.Create(t.Context(), api.CreateRequest{
		Name: name, Argv: []string{exe}, ReadyPrefix: "> ",
		Env: append([]string{receiverVar + "=" + mode, "MUX_TEST_OUT=" + out}, testEnv...),
	})
	if err != nil {
		t.Fatal(err)
	}
	if mode != "mute" {
		await(t, c, name, "^> ?$")
	} else {
		await(t, c, name, "ready")
	}
	return out
}

// submitted reads what the composer submitted.
func submitted(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		s, err := strconv.Unquote(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

func TestNudgesOfManyWritersAreIntact(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	for _, mode := range []string{"paste", "plain", "slow"} {
		t.Run(mode, func(t *testing.T) {
			out := startReceiver(t, c, mode, mode)
			want := map[string]bool{}
			var wg sync.WaitGroup
			for i := range 8 {
				text := fmt.Sprintf("writer %d: %s\nsecond line %d", i, strings.Repeat("words and ", 200), i)
				want[text] = true
				wg.Go(func() {
					r, err := c.Nudge(t.Context(), mode, api.NudgeRequest{Text: text})
					if err != nil || r.State != api.Submitted {
						t.Errorf("writer %d: %+v, %v", i, r, err)
					}
				})
			}
			wg.Wait()
			got := submitted(t, out)
			for _, g := range got {
				if !want[g] {
					t.Errorf("not intact: %q", g)
				}
				delete(want, g)
			}
			if len(want) != 0 {
				t.Errorf("%d of 8 are missing", len(want))
			}
		})
	}
}

func TestNudgeReceipts(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	nudge := func(name, text string, timeout time.Duration) api.Receipt {
		t.Helper()
		r, err := c.Nudge(t.Context(), name, api.NudgeRequest{Text: text, Timeout: timeout})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	startReceiver(t, c, "mute", "mute")
	if r := nudge("mute", "seen by nobody", 0); r.State != api.Unverified {
		t.Errorf("echo off: %+v", r)
	}
	create(t, c, "deaf", "sleep 1000")
	if r := nudge("deaf", "is anybody there", 0); r.State != api.Unverified {
		t.Errorf("a program that does not read: %+v", r)
	}
	create(t, c, "cooked", "exec cat")
	if r := nudge("cooked", strings.Repeat("x", 4096), 0); r.State != api.Refused {
		t.Errorf("a line too long for cooked mode: %+v", r)
	}
	create(t, c, "asks", `printf 'Do you want to proceed?\n❯ 1. Yes\n  2. No\n'; exec cat`)
	await(t, c, "asks", "2. No")
	if r := nudge("asks", "hello", 50*time.Millisecond); r.State != api.Blocked || r.By != "dialog" {
		t.Errorf("a dialog: %+v", r)
	}
	create(t, c, "short", "exit 0")
	awaitExit(t, c, "short")
	if r := nudge("short", "too late", 0); r.State != api.Dead {
		t.Errorf("after the end: %+v", r)
	}
	create(t, c, "stands", "stty -icanon -icrnl -echoctl echo; echo ready; exec cat >/dev/null")
	await(t, c, "stands", "ready")
	if r := nudge("stands", "it stays where it is", 0); r.State != api.Drafted {
		t.Errorf("Enter does nothing: %+v", r)
	}
	if r := nudge("stands", "behind it", 50*time.Millisecond); r.State != api.Blocked || r.By != "draft" {
		t.Errorf("an earlier message is in the way: %+v", r)
	}
	if err := c.Keys(t.Context(), "stands", []string{"C-j"}, false); err != nil { // it goes
		t.Fatal(err)
	}
	if r := nudge("stands", "then this one", 0); r.State == api.Blocked {
		t.Errorf("the earlier message is gone: %+v", r)
	}
	create(t, c, "stuck", "stty raw -echo; echo ready; exec sleep 1000")
	await(t, c, "stuck", "ready")
	if r := nudge("stuck", strings.Repeat("never read ", 20000), 0); r.State != api.Refused {
		t.Errorf("a program that never reads: %+v", r)
	}
}

func TestNudgesAcrossACrashAreTrue(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	out := startReceiver(t, c, "r", "paste")
	type result struct {
		text string
		rec  api.Receipt
	}
	results := make(chan result, 6)
	for i := range cap(results) {
		text := fmt.Sprintf("message %d", i)
		go func() {
			r, err := c.Nudge(t.Context(), "r", api.NudgeRequest{Text: text})
			if err != nil {
				t.Error(err)
			}
			results <- result{text, r}
		}()
	}
	// somewhere in the first nudges
	await(t, c, "r", "message")
	killServer(t, c)
	counts := map[string]int{}
	var all []result
	for range cap(results) {
		all = append(all, <-results)
	}
	for _, g := range submitted(t, out) {
		counts[g]++
	}
	for _, r := range all {
		if n := counts[r.text]; n > 1 || n == 0 && r.rec.State == api.Submitted {
			t.Errorf("%q arrived %d times: %+v; %v", r.text, n, r.rec, counts)
		}
		delete(counts, r.text)
	}
	if len(counts) != 0 {
		t.Errorf("not intact: %v", counts)
	}
}

func TestNudgeWithTheSameIDIsNotRepeated(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "n", `while read -r x; do echo "got $x"; done`)
	for range 2 {
		r, err := c.Nudge(t.Context(), "n", api.NudgeRequest{ID: "one", Text: "only once"})
		if err != nil || r.State != api.Submitted {
			t.Fatal(r, err)
		}
		await(t, c, "n", "^got only once$")
		killServer(t, c)
	}
	if got := screenText(t, c, "n"); got != "only once\ngot only once" {
		t.Fatalf("screen %q", got)
	}
}
