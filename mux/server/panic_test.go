package server

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"testing"

	"gascity.dev/gc/mux/api"
)

// These make a test server panic: once, or whenever a screen is fed them.
const (
	panicOnce   = "\\033_test-panic-once\\033\\134"
	panicAlways = "\\033_test-panic-always\\033\\134"
)

var panicked atomic.Bool

func panicAt(p []byte) {
	if bytes.Contains(p, []byte("\x1b_test-panic-always")) ||
		bytes.Contains(p, []byte("\x1b_test-panic-once")) && panicked.CompareAndSwap(false, true) {
		panic("a test's own")
	}
}

// TestPanicAffectsOneSession: when a session's screen panics, its program and
// screen continue, and other sessions are not affected.
func TestPanicAffectsOneSession(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const others, lines = 3, 3000
	for i := range others {
		create(t, c, fmt.Sprintf("other%d", i), fmt.Sprintf("stty -echo; echo ready; read x; i=0; while [ $i -lt %d ]; do i=$((i+1)); echo $i; done; exec cat", lines))
		await(t, c, fmt.Sprintf("other%d", i), "^ready")
	}
	create(t, c, "bad", `stty -echo; echo before; read x; printf '`+panicOnce+`'; echo again; read x; printf '`+panicAlways+`'; read x; echo fresh; exec cat`)
	await(t, c, "bad", "^before")
	before, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	enter := func(name string) {
		t.Helper()
		if err := c.Keys(t.Context(), name, []string{"Enter"}, false); err != nil {
			t.Fatal(err)
		}
	}
	for i := range others {
		enter(fmt.Sprintf("other%d", i))
	}
	enter("bad")
	await(t, c, "bad", "^again")
	if i, err := c.Get(t.Context(), "bad"); err != nil || i.ScreenLost || screenText(t, c, "bad") != "before\nagain" {
		t.Errorf("after one panic: %+v, %v, %q", i, err, screenText(t, c, "bad"))
	}
	enter("bad")
	for lost := false; !lost; { // what comes in the same read is lost with it
		i, err := c.Get(t.Context(), "bad")
		if err != nil || i.State != api.StateRunning {
			t.Fatalf("after the panic that comes again: %+v, %v", i, err)
		}
		lost = i.ScreenLost
	}
	enter("bad")
	await(t, c, "bad", "^fresh")
	var want bytes.Buffer
	want.WriteString("ready\n")
	for k := range lines {
		fmt.Fprintln(&want, k+1)
	}
	for i := range others {
		name := fmt.Sprintf("other%d", i)
		await(t, c, name, fmt.Sprintf("^%d$", lines))
		p, err := c.Peek(t.Context(), api.PeekRequest{Name: name, Lines: lines + 10})
		if err != nil || p.Text+"\n" != want.String() {
			t.Errorf("%s: %d bytes, %v", name, len(p.Text), err)
		}
		if s, err := c.Get(t.Context(), name); err != nil || s.ScreenLost {
			t.Errorf("%+v, %v", s, err)
		}
		if r, err := c.Nudge(t.Context(), name, api.NudgeRequest{Text: "still here"}); err != nil || r.State != api.Submitted && r.State != api.Unverified {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
	if after, err := c.Status(t.Context()); err != nil || after.Server.PID != before.Server.PID || after.Restarts != before.Restarts {
		t.Errorf("the server became another: %+v, %v", after, err)
	}
}
