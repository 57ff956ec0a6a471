package exec

import (
	"context"
	"log/slog"
	"time"

	"gascity.dev/gc/internal/process"
)

// timers end a command after its timeout, or after its idle timeout without
// output. The command's mu guards them.
type timers struct {
	cmd     *Command
	timeout *time.Timer
	idle    *time.Timer
}

// start starts the timers, for what is left of the command's time. cmd.mu is held.
func (t *timers) start() {
	rec := &t.cmd.rec
	if d := rec.Timeout; d > 0 {
		t.timeout = time.AfterFunc(d-min(d, t.cmd.age()), func() { t.expire(process.IntentTimeout) })
	}
	if d := rec.IdleTimeout; d > 0 {
		t.idle = time.AfterFunc(d, t.checkIdle)
	}
}

// stop stops the timers. cmd.mu is held.
func (t *timers) stop() {
	t.stopTimeout()
	if t.idle != nil {
		t.idle.Stop()
		t.idle = nil
	}
}

// stopTimeout lets the command run without a timeout. cmd.mu is held.
func (t *timers) stopTimeout() {
	if t.timeout != nil {
		t.timeout.Stop()
		t.timeout = nil
	}
}

// checkIdle ends the command if it was silent for its idle timeout.
func (t *timers) checkIdle() {
	cmd := t.cmd
	cmd.mu.Lock()
	s, limit := cmd.session, cmd.rec.IdleTimeout
	cmd.mu.Unlock()
	silent, held := s.Silent()
	if held { // its caller lags
		silent = 0
	}
	if silent >= limit {
		t.expire(process.IntentIdle)
		return
	}
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	if t.idle != nil {
		t.idle = time.AfterFunc(limit-silent, t.checkIdle)
	}
}

// expire ends the command because of intent.
func (t *timers) expire(intent string) {
	if err := t.cmd.end(context.Background(), intent, DefaultGrace); err != nil {
		slog.Warn("cannot end a command", "command", t.cmd.id, "error", err)
	}
}
