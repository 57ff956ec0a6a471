package router_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/router"
	"gascity.dev/gc/runtime/runtimefake"
	"gascity.dev/gc/runtime/wrap"
)

// pair is a router over two fakes, "here" and "there".
type pair struct {
	*router.Router
	here, there *runtimefake.Fake
}

func newPair(t *testing.T, make func(open func(string) (runtime.Provider, error)) (*router.Router, error)) pair {
	t.Helper()
	p := pair{here: runtimefake.New(), there: runtimefake.New()}
	r, err := make(func(name string) (runtime.Provider, error) {
		switch name {
		case "here":
			return p.here, nil
		case "there":
			return p.there, nil
		}
		return nil, errors.New("no such provider")
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Router = r
	return p
}

func auto(t *testing.T) pair {
	return newPair(t, func(open func(string) (runtime.Provider, error)) (*router.Router, error) {
		return router.Auto(open, "here", "there")
	})
}

func start(t *testing.T, p runtime.Provider, name, transport string) {
	t.Helper()
	if err := p.Start(t.Context(), name, runtime.Config{Transport: transport}); err != nil {
		t.Fatal(err)
	}
}

func runs(t *testing.T, p runtime.Provider, name string) bool {
	t.Helper()
	ok, err := p.IsRunning(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

func TestAutoFollowsTheTransport(t *testing.T) {
	p := auto(t)
	start(t, p, "a", "")
	start(t, p, "b", "there")
	if !runs(t, p.here, "a") || runs(t, p.there, "a") || runs(t, p.here, "b") || !runs(t, p.there, "b") {
		t.Fatal("not on the wanted backends")
	}
	if got, err := p.ListRunning(t.Context(), ""); err != nil || !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if err := p.Start(t.Context(), "c", runtime.Config{Transport: "nowhere"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Fatalf("unknown transport: %v", err)
	}
	if !p.SupportsTransport("there") || !p.SupportsTransport("terminal") || p.SupportsTransport("nowhere") {
		t.Error("transports")
	}
}

func TestHybridFollowsTheName(t *testing.T) {
	p := newPair(t, func(open func(string) (runtime.Provider, error)) (*router.Router, error) {
		return router.Hybrid(open, "here", "there", []string{"*-far", "moon.*"})
	})
	for name, far := range map[string]bool{"a": false, "a-far": true, "moon.1": true, "far-a": false} {
		start(t, p, name, "")
		if runs(t, p.there, name) != far || runs(t, p.here, name) == far {
			t.Errorf("%s is on the wrong backend", name)
		}
	}
	if err := p.Start(t.Context(), "b", runtime.Config{Transport: "there"}); !errors.Is(err, runtime.ErrUnsupported) {
		t.Errorf("a transport against the name: %v", err)
	}
	if _, err := router.Hybrid(nil, "a", "b", []string{"["}); err == nil {
		t.Error("no error for an invalid pattern")
	}
}

// Another process finds a session where it lives, whatever config says now.
func TestASessionIsFoundWhereItLives(t *testing.T) {
	p := auto(t)
	start(t, p.there, "old", "")
	if !runs(t, p, "old") {
		t.Fatal("not found")
	}
	if err := p.Start(t.Context(), "old", runtime.Config{}); !errors.Is(err, runtime.ErrSessionExists) || !strings.Contains(err.Error(), "there") {
		t.Fatalf("start on the other backend: %v", err)
	}
	if r, err := p.Nudge(t.Context(), "old", runtime.TextContent("x")); err != nil || r.State != runtime.Submitted {
		t.Fatalf("nudge: %+v, %v", r, err)
	}
	if err := p.Stop(t.Context(), "old"); err != nil || runs(t, p.there, "old") {
		t.Fatalf("stop: %v", err)
	}
	start(t, p, "old", "")
	if !runs(t, p.here, "old") {
		t.Fatal("the next start did not go home")
	}
}

// The last screen of an ended session is found on its backend.
func TestAnEndedSessionIsFound(t *testing.T) {
	p := auto(t)
	start(t, p.there, "old", "")
	p.there.SetPeek("old", "last words")
	p.there.Exit("old", 7)
	if text, err := p.Peek(t.Context(), "old", 0); err != nil || text != "last words" {
		t.Fatalf("%q, %v", text, err)
	}
	if e, err := p.LastExit(t.Context(), "old"); err != nil || e == nil || e.Code != 7 {
		t.Fatalf("%+v, %v", e, err)
	}
}

// A backend that hangs makes its own sessions unknown, and those whose place is not
// known; sessions of the others are not affected.
func TestUnreachableBackend(t *testing.T) {
	p := auto(t)
	start(t, p, "a", "")
	start(t, p, "b", "there")
	lost := fmt.Errorf("%w: it hangs", runtime.ErrBackendUnreachable)
	for _, m := range []string{"IsRunning", "ListRunning", "Events"} {
		p.there.Fail(m, "", lost)
	}
	if !runs(t, p, "a") {
		t.Error("a is not running")
	}
	if _, err := p.IsRunning(t.Context(), "b"); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("b: %v", err)
	}
	if _, err := p.IsRunning(t.Context(), "new"); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("new: %v", err)
	}
	if err := p.Start(t.Context(), "new", runtime.Config{}); !errors.Is(err, runtime.ErrBackendUnreachable) || runs(t, p.here, "new") {
		t.Errorf("start of new: %v", err)
	}
	if got, err := p.ListRunning(t.Context(), ""); !errors.Is(err, runtime.ErrBackendUnreachable) || !slices.Equal(got, []string{"a"}) {
		t.Errorf("list: %q, %v", got, err)
	}
	// A session that ended here is known to have ended, and starts again.
	p.here.Exit("a", 0)
	if runs(t, p, "a") {
		t.Error("a runs")
	}
	start(t, p, "a", "")
}

// bare is a provider without any extension.
type bare struct{ runtime.Provider }

func TestExtensionsAreThoseOfTheBackend(t *testing.T) {
	f := runtimefake.New()
	sides := map[string]runtime.Provider{"full": f, "bare": bare{runtimefake.New()}, "bare2": bare{runtimefake.New()}}
	open := func(s string) (runtime.Provider, error) { return sides[s], nil }
	r, err := router.Auto(open, "full", "bare")
	if err != nil {
		t.Fatal(err)
	}
	var p runtime.Provider = wrap.Decorate(r, wrap.Deadlines{})
	start(t, p, "a", "")
	start(t, p, "b", "bare")
	warm, ok := runtime.As[runtime.RelaunchProvider](p)
	if !ok {
		t.Fatal("no backend can relaunch")
	}
	if err := warm.Relaunch(t.Context(), "a", runtime.Config{}); err != nil {
		t.Error(err)
	}
	if err := warm.Relaunch(t.Context(), "b", runtime.Config{}); !errors.Is(err, runtime.ErrRelaunchUnsupported) {
		t.Error(err)
	}
	if err := warm.Relaunch(t.Context(), "c", runtime.Config{}); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Error(err)
	}
	for name, want := range map[string]bool{"a": true, "b": false} {
		if _, ok, err := runtime.AsFor[runtime.RelaunchProvider](t.Context(), p, name); ok != want || err != nil {
			t.Errorf("AsFor %s: %v, %v", name, ok, err)
		}
	}
	if _, ok := runtime.As[runtime.ExecProvider](p); ok {
		t.Error("exec, which no backend has")
	}
	if _, _, err := r.Exec(t.Context(), "b", nil); !errors.Is(err, runtime.ErrExecUnsupported) {
		t.Error(err)
	}
	if _, err := r.Pending(t.Context(), "b"); !errors.Is(err, runtime.ErrInteractionUnsupported) {
		t.Error(err)
	}
	if a, err := r.Activity(t.Context(), "b"); a.State != runtime.ActivityUnknown || err != nil {
		t.Error(a, err)
	}
	if r, err := router.Auto(open, "bare", "bare2"); err != nil {
		t.Error(err)
	} else if _, ok := runtime.As[runtime.RelaunchProvider](r); ok {
		t.Error("relaunch of two that cannot")
	}
}

func TestCapabilitiesAreThoseOfAllAndOfEach(t *testing.T) {
	p := auto(t)
	c := p.there.Capabilities()
	c.Attach = false
	p.there.SetCapabilities(c)
	start(t, p, "a", "")
	start(t, p, "b", "there")
	if p.Capabilities().Attach {
		t.Error("attach is claimed for all")
	}
	for name, want := range map[string]bool{"a": true, "b": false} {
		if c, err := runtime.CapabilitiesFor(t.Context(), p, name); err != nil || c.Attach != want {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
}

func TestEventsOfBothBackends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := auto(t)
		p.there.FailTimes("Events", "", runtime.ErrBackendUnreachable, 1)
		some, err := p.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		start(t, p, "a", "")
		if e := <-some; e.Session != "a" {
			t.Fatalf("%+v", e)
		}
		begin := time.Now()
		if e, open := <-some; open { // the other backend is back: subscribe again
			t.Fatalf("%+v", e)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("told after %v", took)
		}
		all, err := p.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		start(t, p, "b", "there")
		if e := <-all; e.Session != "b" {
			t.Fatalf("%+v", e)
		}
		p.here.Fail("Events", "", runtime.ErrBackendUnreachable)
		p.there.Fail("Events", "", runtime.ErrBackendUnreachable)
		if _, err := p.Events(ctx); !errors.Is(err, runtime.ErrBackendUnreachable) {
			t.Error(err)
		}
		cancel()
		for range all {
		}
	})
}

// The events of a backend that a Start adds arrive like those of the first ones.
func TestEventsOfAnAddedBackend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		p := newPair(t, func(open func(string) (runtime.Provider, error)) (*router.Router, error) {
			return router.Auto(open, "here")
		})
		before, err := p.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if p.Searches("there") || !p.SupportsTransport("there") || !p.Searches("there") {
			t.Error("a backend is searched from when it is there")
		}
		if e, open := <-before; open { // a subscriber must subscribe again
			t.Fatalf("%+v", e)
		}
		after, err := p.Events(ctx)
		if err != nil {
			t.Fatal(err)
		}
		start(t, p, "b", "there")
		if e := <-after; e.Session != "b" {
			t.Fatalf("%+v", e)
		}
		cancel()
		for range after {
		}
	})
}

// Of concurrent Starts on different backends one wins.
func TestOneStartWins(t *testing.T) {
	p := auto(t)
	p.here.Hang("Start", "a", true)
	first := make(chan error, 1)
	go func() { first <- p.Start(t.Context(), "a", runtime.Config{}) }()
	if _, err := p.here.AwaitCalls(t.Context(), "Start", "a", 1); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(t.Context(), "a", runtime.Config{Transport: "there"}); !errors.Is(err, runtime.ErrSessionExists) {
		t.Errorf("second: %v", err)
	}
	p.here.Hang("Start", "a", false)
	if err := <-first; err != nil {
		t.Errorf("first: %v", err)
	}
}

// A session whose place is known from records does not depend on the other backends.
func TestPlacedSessionIsNotSearchedFor(t *testing.T) {
	p := auto(t)
	p.there.Fail("IsRunning", "", runtime.ErrBackendUnreachable)
	if err := p.Start(t.Context(), "a", runtime.Config{}); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Fatalf("nothing is known of its place: %v", err)
	}
	p.Place("a", "here")
	start(t, p, "a", "")
	if !runs(t, p, "a") {
		t.Error("it does not run")
	}
	p.Place("a", "there") // it was seen
	if !runs(t, p, "a") {
		t.Error("its place was changed")
	}
	p.Place("b", "nowhere")
	if err := p.Start(t.Context(), "b", runtime.Config{}); !errors.Is(err, runtime.ErrBackendUnreachable) {
		t.Errorf("placed nowhere: %v", err)
	}
}
