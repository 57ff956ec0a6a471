package acp_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/acp"
	"gascity.dev/gc/runtime/native"
)

// An answer whose connection broke is carried out once, and succeeds only if it was.
func TestRespondAfterALostConnection(t *testing.T) {
	t.Parallel()
	b := newBackend(t)
	_, name := agentOf(t, b)
	var lose atomic.Int64 // what becomes of the next answer
	paths := b.paths
	paths.Socket = filepath.Join(filepath.Dir(b.paths.Socket), "p")
	testenv.Proxy(t, paths.Socket, b.paths.Socket, func() {}, func(r *http.Request) int {
		if !strings.HasSuffix(r.URL.Path, "/respond") {
			return testenv.Pass
		}
		return int(lose.Swap(testenv.Pass))
	})
	base, err := native.New(native.Options{Paths: paths, Version: "test", Sessions: native.WithControl})
	if err != nil {
		t.Fatal(err)
	}
	defer base.Close()
	p, err := acp.New(acp.Options{Base: base, Dir: b.dir, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   int
		option string
		err    error
	}{
		{testenv.LoseReply, "Yes", nil},
		{testenv.Drop, "No", nil},
		{testenv.Drop, "Maybe", runtime.ErrQuestion},
		{testenv.LoseReply, "Maybe", runtime.ErrQuestion},
	} {
		if err := p.WaitForIdle(t.Context(), name, patience); err != nil {
			t.Fatal(err)
		}
		if r, err := p.Nudge(t.Context(), name, runtime.TextContent("ASK execute Yes No")); err != nil || r.State != runtime.Submitted {
			t.Fatalf("%+v, %v", r, err)
		}
		await(t, "the question", is(t, p, name, runtime.ActivityBlocked))
		lose.Store(int64(c.what))
		if err := p.Respond(t.Context(), name, runtime.Answer{Action: c.option}); !errors.Is(err, c.err) {
			t.Errorf("%+v: %v", c, err)
		}
		if lose.Load() != testenv.Pass {
			t.Errorf("%+v: nothing was lost", c)
		}
		if c.err != nil {
			if err := p.Respond(t.Context(), name, runtime.Answer{Action: "Yes"}); err != nil {
				t.Errorf("after %+v: %v", c, err)
			}
		}
	}
	if err := p.WaitForIdle(t.Context(), name, patience); err != nil {
		t.Fatal(err)
	}
	await(t, "the answers", func() bool {
		screen, err := p.Peek(t.Context(), name, 0)
		return err == nil && strings.Count(screen, "chose Yes") == 3 && strings.Count(screen, "chose No") == 1
	})
}
