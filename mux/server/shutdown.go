package server

import (
	"context"
	"log/slog"
	"time"

	"gascity.dev/gc/mux/api"
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
	srv.events.log.Close()
	srv.compactor.close()
	_ = srv.api.http.Shutdown(ctx)
	_ = srv.api.http.Close()
	over := make(chan struct{})
	go func() {
		defer close(over)
		srv.api.conns.Wait()
		srv.loop.close()
		srv.lifetime.work.Wait()
	}()
	late := time.NewTimer(lastWork)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		slog.Warn("ended while requests were still being carried out")
	}
	srv.commands.Close()
	if srv.db.Lost() { // the next server opens the copy
		if err := srv.db.Copy(srv.settings.paths.Db()); err != nil {
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
		case <-srv.lifetime.done:
			cancel(api.ErrLeaving)
		case <-over:
		}
	}()
	return ctx, func() {
		close(over)
		cancel(nil)
	}
}
