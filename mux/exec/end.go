package exec

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// publish publishes the newest event of a command.
func (cmd *Command) publish() {
	rec := cmd.record()
	e := rec.Event()
	cmd.c.Host.Publish(api.Event{Type: e.Type, Time: time.Now(), Session: sessionName(cmd.id), SID: cmd.id, Exec: &e})
}

// Ended saves and announces the end of the command that ran in the session with the
// id. All its output has been written. It returns when the end is saved, which a full
// disk delays until the server ends.
func (c *Commands) Ended(id string, exit api.Exit) {
	cmd, err := c.Find(id)
	if err != nil || cmd.ended() {
		return
	}
	<-cmd.started
	c.Fault("ended")
	cmd.mu.Lock()
	cmd.timers.stop()
	cmd.readers.stop()
	started := cmd.rec.Started
	cmd.mu.Unlock()
	end := process.End{Code: exit.Code, Signal: exit.Signal, At: exit.Time, Now: c.Now()}
	end.Took = took(exit.Time.Sub(started), cmd.running())
	switch exit.Reason {
	case api.ReasonUnknown:
		end.Lost, end.Reason = true, "its keeper was gone, and the system does not tell how it ended"
	case api.ReasonStopped:
		end.Reason = process.IntentKill
	case api.ReasonNotFound:
		end.Reason = api.ReasonNotFound
	}
	if out, err := cmd.output(); err == nil {
		end.Tail = out.tail()
	}
	cmd.finish(end)
}

// took is how long a command ran: by the system's clock, which the keeper reads
// at the exit, unless that clock was set meanwhile; then by how long the server
// saw it run.
func took(wall, seen time.Duration) time.Duration {
	if wall < 0 || wall > seen+time.Second {
		return seen
	}
	return wall
}

// running is how long ago the command was started.
func (cmd *Command) running() time.Duration {
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	return cmd.age()
}

// age is running. mu is held.
func (cmd *Command) age() time.Duration {
	if cmd.rec.MonoStart.IsZero() { // an earlier program wrote it
		return max(0, time.Since(cmd.rec.Started))
	}
	return max(0, cmd.c.since(cmd.rec.MonoStart))
}

// finish saves the end of a command and announces it.
func (cmd *Command) finish(end process.End) {
	rec, ok := cmd.saveEnd(end)
	if !ok {
		return
	}
	cmd.c.Fault("finished")
	cmd.announceEnd(rec)
}

// saveEnd writes the end, its event and its delivery in one transaction, and
// retries until the disk takes it; callers that wait for the end get it
// meanwhile. It returns false if the command was removed, or if the server
// ends: the keeper then reports the end to the next server.
func (cmd *Command) saveEnd(end process.End) (process.Record, bool) {
	now, watched := cmd.atEnd(end)
	for pause := saveRetry; ; pause = min(2*pause, saveRetryMax) {
		rec, err := cmd.writeEnd(now, end, watched)
		if err == nil {
			return rec, true
		}
		if errors.Is(err, process.ErrNotFound) || errors.Is(err, store.ErrClosed) {
			slog.Warn("cannot save the end of a command", "command", cmd.id, "error", err)
			return rec, false
		}
		slog.Warn("cannot save the end of a command yet", "command", cmd.id, "error", err)
		if !cmd.ended() {
			cmd.mu.Lock()
			cmd.rec.Intent, cmd.unsaved = now.Intent, true
			cmd.rec = cmd.rec.Finish(end)
			cmd.mu.Unlock()
			close(cmd.done)
		}
		select {
		case <-time.After(pause):
		case <-cmd.c.Done:
			return rec, false
		}
	}
}

// atEnd returns the record of a command as it ended, with its cause, and
// whether a caller waits for the end.
func (cmd *Command) atEnd(end process.End) (now process.Record, watched bool) {
	cmd.mu.Lock()
	now, watched = cmd.rec, cmd.waiting > 0
	cmd.mu.Unlock()
	if cmd.c.Host.ShuttingDown() {
		now.Intent = process.IntentShutdown
	}
	if now.Intent == "" && end.Reason == process.IntentKill {
		now.Intent = process.IntentKill
	}
	return now, watched
}

// writeEnd is one try of saveEnd.
func (cmd *Command) writeEnd(now process.Record, end process.End, watched bool) (rec process.Record, err error) {
	c := cmd.c
	seen := cmd.record().Seen
	err = c.Host.Tx(func(tx *store.Tx) error {
		_, err := c.store.Update(tx, cmd.id, func(r *process.Record) {
			r.Started, r.PID, r.Acked = now.Started, now.PID, now.Acked
			r.Background = r.Background || now.Background || !watched
			if r.Intent == "" {
				r.Intent = now.Intent
			}
			if r.Seen = seen; !r.Background {
				r.Seen = end.Now // a caller waits for it
			}
		})
		if err == nil {
			rec, _, err = c.store.Finish(tx, cmd.id, end)
		}
		return err
	})
	return rec, err
}

// announceEnd notifies a command's waiters and its owner of its saved end.
func (cmd *Command) announceEnd(rec process.Record) {
	c := cmd.c
	cmd.mu.Lock()
	rec.Acked = max(rec.Acked, cmd.rec.Acked)
	seen := cmd.unsaved && !cmd.rec.Seen.IsZero() && rec.Seen.IsZero() // while it was being written
	cmd.rec, cmd.unsaved = rec, false
	cmd.mu.Unlock()
	if rec.Wakes() {
		c.completions.add(rec.EventID())
	}
	if !cmd.ended() {
		close(cmd.done)
	}
	if seen {
		res := cmd.Result()
		if err := cmd.see(rec.Owner, &res); err != nil {
			slog.Warn("cannot save that the end of a command was seen", "command", cmd.id, "error", err)
		}
	}
	cmd.publish()
	c.completions.wake()
	c.collector.soon()
}

// end ends the whole tree for the reason in intent, and returns when the end is
// saved. The intent is on disk before the first signal.
func (cmd *Command) end(ctx context.Context, intent string, grace time.Duration) error {
	s, err := cmd.Input(ctx)
	if errors.Is(err, api.ErrExited) {
		return cmd.await(ctx)
	} else if err != nil {
		return err
	}
	err = cmd.change(func(r *process.Record) {
		if r.Intent == "" {
			r.Intent = intent
		}
	})
	if err != nil {
		return err
	}
	if err := s.End(ctx, grace); err != nil {
		return err
	}
	return cmd.await(ctx)
}
