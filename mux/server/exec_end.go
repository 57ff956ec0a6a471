package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

func commandLine(r *api.ExecRequest) string {
	if r.Command != "" {
		return r.Command
	}
	return strings.Join(r.Argv, " ")
}

// tell publishes the newest event of a command.
func (x *execs) tell(p *proc) {
	p.mu.Lock()
	e := p.rec.Event()
	p.mu.Unlock()
	x.srv.events.log.Append(api.Event{Type: e.Type, Time: time.Now(), Session: "exec-" + p.id, SID: p.id, Exec: &e})
}

// ended writes down the end of a session that is a command. Its output was
// drained. The caller has no lock.
func (x *execs) ended(s *session) {
	if !s.rec.Exec {
		return
	}
	p, err := x.find(s.rec.ID)
	if err != nil || p.ended() {
		return
	}
	<-p.started
	execFault("ended")
	s.mu.Lock()
	exit := *s.life.exit
	s.mu.Unlock()
	p.mu.Lock()
	p.stopTimers()
	p.mu.Unlock()
	end := process.End{Code: exit.Code, Signal: exit.Signal, At: exit.Time, Now: x.srv.clock.Now()}
	end.Took = took(exit.Time.Sub(time.Unix(0, s.rec.Started)), p.running())
	switch exit.Reason {
	case api.ReasonUnknown:
		end.Lost, end.Reason = true, "its keeper was gone, and the system does not tell how it ended"
	case api.ReasonStopped:
		end.Reason = process.IntentKill
	case api.ReasonNotFound:
		end.Reason = api.ReasonNotFound
	}
	end.Tail = p.tail()
	x.finish(p, end)
}

// took is how long a command ran: by the system's clock, which the keeper reads
// at the very end, unless that was set meanwhile; then as long as it was seen to.
func took(wall, seen time.Duration) time.Duration {
	if wall < 0 || wall > seen+time.Second {
		return seen
	}
	return wall
}

// running is how long ago the command was begun.
func (p *proc) running() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.age()
}

// age is running. mu is held.
func (p *proc) age() time.Duration {
	if p.rec.Begun.IsZero() { // an earlier program wrote it
		return max(0, time.Since(p.rec.Started))
	}
	return max(0, p.x.srv.clock.Since(p.rec.Begun))
}

// finish saves the end of a command and announces it.
func (x *execs) finish(p *proc, end process.End) {
	rec, ok := x.saveEnd(p, end)
	if !ok {
		return
	}
	execFault("finished")
	x.announceEnd(p, rec)
}

// saveEnd writes the end, its event and its delivery in one transaction, and retries
// until the disk takes it; those who wait for the end get it meanwhile. It returns
// false if the command was removed or the server ends: then the keeper tells the next
// server.
func (x *execs) saveEnd(p *proc, end process.End) (process.Record, bool) {
	now, watched := x.atEnd(p, end)
	for pause := execRetry; ; pause = min(2*pause, execRetryMax) {
		rec, err := x.writeEnd(p, now, end, watched)
		if err == nil {
			return rec, true
		}
		if errors.Is(err, process.ErrNotFound) || errors.Is(err, store.ErrClosed) {
			slog.Warn("cannot save the end of a command", "command", p.id, "error", err)
			return rec, false
		}
		slog.Warn("cannot save the end of a command yet", "command", p.id, "error", err)
		if !p.ended() {
			p.mu.Lock()
			p.rec.Intent, p.unwritten = now.Intent, true
			p.rec = p.rec.Finish(end)
			p.mu.Unlock()
			close(p.done)
		}
		select {
		case <-time.After(pause):
		case <-x.srv.lifetime.done:
			return rec, false
		}
	}
}

// atEnd returns the record of a command as it ended, with what ended it, and whether
// somebody follows its output.
func (x *execs) atEnd(p *proc, end process.End) (now process.Record, watched bool) {
	p.mu.Lock()
	now, watched = p.rec, p.followers > 0
	p.mu.Unlock()
	x.srv.mu.Lock()
	if x.srv.sessions.stopping {
		now.Intent = process.IntentShutdown
	}
	x.srv.mu.Unlock()
	if now.Intent == "" && end.Reason == process.IntentKill {
		now.Intent = process.IntentKill
	}
	return now, watched
}

// writeEnd is one try of saveEnd.
func (x *execs) writeEnd(p *proc, now process.Record, end process.End, watched bool) (rec process.Record, err error) {
	p.mu.Lock()
	seen := p.rec.Seen
	p.mu.Unlock()
	err = x.srv.db.Batch(func(tx *store.Tx) error {
		_, err := x.book.Update(tx, p.id, func(r *process.Record) {
			r.Started, r.PID, r.Acked = now.Started, now.PID, now.Acked
			r.Background = r.Background || now.Background || !watched
			if r.Intent == "" {
				r.Intent = now.Intent
			}
			if r.Seen = seen; !r.Background {
				r.Seen = end.Now // somebody waits for it
			}
		})
		if err == nil {
			rec, _, err = x.book.Finish(tx, p.id, end)
		}
		return err
	})
	return rec, err
}

// announceEnd tells those who wait for a command, and its owner, of its saved end.
func (x *execs) announceEnd(p *proc, rec process.Record) {
	p.mu.Lock()
	rec.Acked = max(rec.Acked, p.rec.Acked)
	seen := p.unwritten && !p.rec.Seen.IsZero() && rec.Seen.IsZero() // while it was being written
	p.rec, p.unwritten = rec, false
	p.mu.Unlock()
	if rec.Wakes() {
		x.mu.Lock()
		x.open[rec.EventID()] = true
		x.mu.Unlock()
	}
	if !p.ended() {
		close(p.done)
	}
	if seen {
		res := p.result()
		if err := p.see(rec.Owner, &res); err != nil {
			slog.Warn("cannot save that the end of a command was seen", "command", p.id, "error", err)
		}
	}
	x.tell(p)
	x.wake()
	x.armSweep()
}

// arm starts the command's timers, for what is left of its time. mu is held.
func (p *proc) arm() {
	if d := p.rec.Timeout; d > 0 {
		left := d - min(d, p.age())
		p.timer = time.AfterFunc(left, func() { p.expire(process.IntentTimeout) })
	}
	if d := p.rec.IdleTimeout; d > 0 {
		p.idle = time.AfterFunc(d, p.quiet)
	}
}

// stopTimers ends the timers. mu is held.
func (p *proc) stopTimers() {
	for _, t := range []*time.Timer{p.timer, p.idle, p.away} {
		if t != nil {
			t.Stop()
		}
	}
	p.timer, p.idle, p.away = nil, nil, nil
}

// quiet looks whether the command was silent for its idle timeout.
func (p *proc) quiet() {
	p.mu.Lock()
	s, limit := p.s, p.rec.IdleTimeout
	p.mu.Unlock()
	s.mu.Lock()
	silent := s.activity.silent()
	if s.output.held() { // its caller is behind
		silent = 0
	}
	s.mu.Unlock()
	if silent >= limit {
		p.expire(process.IntentIdle)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.idle != nil {
		p.idle = time.AfterFunc(limit-silent, p.quiet)
	}
}

// expire ends a command whose time is up.
func (p *proc) expire(intent string) {
	if err := p.end(context.Background(), intent, execGrace); err != nil {
		slog.Warn("cannot end a command", "command", p.id, "error", err)
	}
}

// end ends the whole tree, because of intent, and returns when the end is
// written down. The intent is on disk before the first signal.
func (p *proc) end(ctx context.Context, intent string, grace time.Duration) error {
	s, err := p.input(ctx)
	if errors.Is(err, api.ErrExited) {
		return p.await(ctx)
	} else if err != nil {
		return err
	}
	err = p.change(func(r *process.Record) {
		if r.Intent == "" {
			r.Intent = intent
		}
	})
	if err != nil {
		return err
	}
	if err := p.x.srv.reaper.endTree(ctx, s, grace); err != nil {
		return err
	}
	return p.await(ctx)
}

// change changes the record of a running command, durably.
func (p *proc) change(f func(*process.Record)) error {
	err := p.x.srv.db.Batch(func(tx *store.Tx) error {
		_, err := p.x.book.Update(tx, p.id, func(r *process.Record) {
			if !r.Status.Ended() {
				f(r)
			}
		})
		return err
	})
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.rec.Status.Ended() {
		f(&p.rec)
	}
	return nil
}

// background lets a command of the foreground go on without its caller: its
// timeout lapses, and its owner is told of the end.
func (p *proc) background() error {
	err := p.change(func(r *process.Record) { r.Background, r.Timeout = true, 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.timer != nil {
		p.timer.Stop()
		p.timer = nil
	}
	if p.s != nil {
		p.s.output.changeFlow(func(f *flow) { f.on = false })
	}
	p.spareMemory()
	return err
}

// await waits until the end is written down.
func (p *proc) await(ctx context.Context) error {
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// armSweep looks for records that are kept no longer, now and when the next
// one is due.
func (x *execs) armSweep() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sweepIn(time.Second) // many end at once
}

// sweepIn sets the timer that collects, unless it is set to an earlier time. mu
// is held.
func (x *execs) sweepIn(d time.Duration) {
	at := time.Now().Add(d)
	if x.closing || x.sweep != nil && !at.Before(x.sweepAt) {
		return
	}
	if x.sweep != nil {
		x.sweep.Stop()
	}
	x.sweep, x.sweepAt = time.AfterFunc(d, x.collect), at
}

// collect forgets what is kept no longer.
func (x *execs) collect() {
	x.mu.Lock()
	x.sweep = nil
	open := make(map[string]bool, len(x.open))
	for id := range x.open {
		open[id] = true
	}
	var all []process.Record
	for _, p := range x.procs {
		p.mu.Lock()
		all = append(all, p.rec)
		p.mu.Unlock()
	}
	x.mu.Unlock()
	ids, next := process.Overdue(all, open, x.srv.clock.Now())
	if err := x.remove(ids...); err != nil {
		slog.Warn("cannot remove old commands", "error", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !next.IsZero() {
		x.sweepIn(max(-x.srv.clock.Since(next), time.Second))
	}
}

// remove forgets ended commands: their records in one transaction, their
// sessions, their output.
func (x *execs) remove(ids ...string) error {
	if len(ids) == 0 {
		return nil
	}
	err := x.srv.db.Batch(func(tx *store.Tx) error {
		for _, id := range ids {
			err := x.book.Remove(tx, id)
			if err != nil && (len(ids) == 1 || !errors.Is(err, process.ErrNotFound)) { // a person was faster
				return err
			}
		}
		return nil
	})
	if errors.Is(err, process.ErrRunning) {
		return fmt.Errorf("%w: %w", api.ErrBusy, err)
	}
	if err != nil {
		return err
	}
	var sessions []*session
	x.srv.mu.Lock()
	for _, id := range ids {
		if s := x.srv.sessions.byID[id]; s != nil {
			sessions = append(sessions, s)
		}
	}
	x.srv.mu.Unlock()
	x.srv.sessions.remove(sessions...)
	for _, id := range ids {
		x.mu.Lock()
		delete(x.open, id+"/exit")
		x.mu.Unlock()
		x.drop(id)
	}
	return nil
}
