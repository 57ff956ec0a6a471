package server

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/store"
)

// Bounds of a server's orderly end. New connections wait in the socket's queue for the
// next server, so the end must be quick.
const (
	lastReplies = 250 * time.Millisecond // for replies that are being written; requests that wait are cut off
	lastWork    = 3 * time.Second        // for work that ignores that, such as a nudge between its text and Enter
)

// close ends what serve began, after srv.done was closed. It abandons work that is not
// done within lastWork: whatever must survive a server survives its kill, too.
func (srv *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastReplies)
	defer cancel()
	srv.events.Close()
	srv.resting.close()
	_ = srv.http.Shutdown(ctx)
	_ = srv.http.Close()
	over := make(chan struct{})
	go func() {
		defer close(over)
		srv.conns.Wait()
		srv.loop.close()
		srv.work.Wait()
	}()
	late := time.NewTimer(lastWork)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		slog.Warn("ended while requests were still being carried out")
	}
	srv.execs.close()
	if srv.db.Lost() { // the next server opens the copy
		if err := srv.db.Copy(srv.paths.Db()); err != nil {
			slog.Error("cannot copy the database", "error", err)
		}
	}
	_ = srv.db.Close()
}

// untilDone returns ctx without its cancellation, so that work is finished even if the
// client left. When the server ends, it is cancelled with ErrLeaving.
func (srv *server) untilDone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	over := make(chan struct{})
	go func() {
		select {
		case <-srv.done:
			cancel(api.ErrLeaving)
		case <-over:
		}
	}()
	return ctx, func() {
		close(over)
		cancel(nil)
	}
}

// killBucket holds when the grace of unfinished kills ends, by the session's id.
var killBucket = store.NewBucket[time.Time]("kills")

// leaveKill lets the next server finish a kill.
func (srv *server) leaveKill(s *session, deadline time.Time) {
	if err := srv.db.Batch(func(tx *store.Tx) error { return killBucket.Put(tx, s.rec.ID, deadline) }); err != nil {
		slog.Warn("cannot hand over a kill", "session", s.rec.ID, "error", err)
	}
}

// finishKills resumes the kills that the last server left.
func (srv *server) finishKills() error {
	kills := make(map[string]time.Time)
	err := srv.db.View(func(tx *store.Tx) error {
		for id, deadline := range killBucket.All(tx, "") {
			kills[id] = deadline
		}
		return nil
	})
	if err == nil && len(kills) > 0 {
		err = srv.db.Update(func(tx *store.Tx) error { return killBucket.Clear(tx) })
	}
	if err != nil {
		return fmt.Errorf("kills of the server before: %w", err)
	}
	for id, deadline := range kills {
		s := srv.sessions[id]
		if s == nil {
			continue
		}
		srv.resumed = append(srv.resumed, func(ctx context.Context) {
			ctx, done := srv.untilDone(ctx)
			defer done()
			finish := srv.kill
			if s.rec.Exec { // its record and output stay
				finish = srv.endTree
			}
			if err := finish(ctx, s, max(0, -srv.clock.Since(deadline))); err != nil {
				slog.Warn("cannot finish a kill", "session", s.rec.ID, "error", err)
			}
		})
	}
	return nil
}
