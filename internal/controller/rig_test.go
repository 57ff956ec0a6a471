package controller

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime/runtimefake"
)

// rig is one city with a fake backend, in a synctest bubble without sockets.
type rig struct {
	t    *testing.T
	dir  string
	fake *runtimefake.Fake
	log  *syncBuffer

	l      *loop
	cancel context.CancelFunc
	result chan error
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func newRig(t *testing.T, toml string) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), fake: runtimefake.New(), log: &syncBuffer{}}
	r.write(toml)
	return r
}

func (r *rig) write(toml string) {
	r.t.Helper()
	text := "[workspace]\nname = \"city\"\n" + toml
	if err := os.WriteFile(filepath.Join(r.dir, config.FileName), []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) options() Options {
	r.t.Helper()
	c, err := config.Load(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return Options{City: c, Provider: r.fake, Log: r.log, Build: agent.BuildOptions{Environ: []string{"HOME=/home/me", "SECRET=x"}}}
}

// start runs a controller until the test says otherwise.
func (r *rig) start(change ...func(*Options)) {
	r.t.Helper()
	o := r.options()
	for _, c := range change {
		c(&o)
	}
	specs, err := agent.Build(o.City, o.Build)
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := api.MakeStateDir(r.dir); err != nil {
		r.t.Fatal(err)
	}
	if r.l, err = newLoop(o, specs); err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.result = cancel, make(chan error, 1)
	l := r.l
	go func() {
		err := l.run(ctx)
		r.result <- errors.Join(err, l.store.Close())
	}()
	synctest.Wait()
}

// end stops the controller, not the agents, and returns its result.
func (r *rig) end() error {
	r.t.Helper()
	r.cancel()
	return <-r.result
}

func (r *rig) status(name string) api.AgentStatus {
	r.t.Helper()
	synctest.Wait()
	var st api.Status
	if err := r.l.do(context.Background(), func() { st = r.l.report.status() }); err != nil {
		r.t.Fatal(err)
	}
	for _, a := range st.Agents {
		if a.Name == name {
			return a
		}
	}
	r.t.Fatalf("no agent %s in %+v", name, st)
	return api.AgentStatus{}
}

func (r *rig) wantState(name string, want api.State) api.AgentStatus {
	r.t.Helper()
	a := r.status(name)
	if a.State != want {
		r.t.Fatalf("%s is %s, want %s; log:\n%s", name, a.State, want, r.log)
	}
	return a
}

func (r *rig) starts(session string) int { return len(r.fake.CallsOf("Start", session)) }

func bubble(t *testing.T, toml string, fn func(*rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, toml)
		defer func() {
			if r.cancel != nil {
				r.cancel() // of a failed test
			}
		}()
		fn(r)
	})
}
