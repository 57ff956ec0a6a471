package server

import (
	"context"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/wait"
	"gascity.dev/gc/vt"
)

// waitFor blocks until a condition holds, the session ends or the time is over.
func (s *session) waitFor(ctx context.Context, r api.WaitRequest) (api.WaitResult, error) {
	s.srv.counts.waits.Add(1)
	defer s.srv.counts.waits.Add(-1)
	return wait.For(ctx, awaited{s}, r)
}

// counts are numbers of the whole server, for its status.
type counts struct {
	output atomic.Uint64
	waits  atomic.Int64
}

// awaited is a session as those who wait for it see it.
type awaited struct{ s *session }

func (w awaited) Lock()                   { w.s.mu.Lock() }
func (w awaited) Unlock()                 { w.s.mu.Unlock() }
func (w awaited) Change() <-chan struct{} { return w.s.change() }
func (w awaited) End() <-chan struct{}    { return w.s.life.endChan() }
func (w awaited) Exit() *api.Exit         { return w.s.life.exitCopy() }
func (w awaited) Silent() time.Duration   { return w.s.activity.silent() }
func (w awaited) Bells() uint64           { return w.s.activity.bells }
func (w awaited) Prompt() bool            { return w.s.activity.prompt }
func (w awaited) Revision() uint64        { return w.s.screen.revision() }
func (w awaited) Term() *vt.Terminal      { return w.s.screen.term }
func (w awaited) View() *vt.Terminal      { return w.s.screen.view() }

func (w awaited) Activity() (a api.Activity, known bool, again time.Duration) {
	return w.s.activity.detect()
}
