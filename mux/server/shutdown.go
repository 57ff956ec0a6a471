package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
)

// Limits of a server's orderly end. It must be quick: new connections wait in the
// socket's queue for the next server.
const (
	lastReplies = 250 * time.Millisecond // for replies being written; waiting requests are cut off
	lastWork    = 3 * time.Second        // for what is owed, and for work that ignores the cut, such as a nudge between its text and Enter
)

// close ends what serve began, after lifetime.done was closed. Work not finished within
// lastWork is abandoned: what must survive a server survives its kill, too.
func (srv *server) close() {
	ctx, cancel := context.WithTimeout(context.Background(), lastWork)
	defer cancel()
	go func() {
		select {
		case <-srv.lifetime.owed.paid():
			time.AfterFunc(lastReplies, cancel)
		case <-ctx.Done():
		}
	}()
	srv.events.log.Close()
	srv.screens.Close()
	srv.compactor.close()
	srv.endpoint.Close(ctx)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		srv.endpoint.Wait()
		srv.loop.Close()
		srv.lifetime.work.Wait()
	}()
	late := time.NewTimer(lastWork)
	defer late.Stop()
	select {
	case <-finished:
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
// client left. It is cancelled with ErrLeaving when the server ends, which waits for that
// answer to be given.
func (srv *server) untilDone(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	finished := make(chan struct{})
	srv.lifetime.owed.add(1)
	go func() {
		select {
		case <-srv.lifetime.done:
			cancel(api.ErrLeaving)
		case <-finished:
		}
	}()
	return ctx, func() {
		close(finished)
		cancel(nil)
		srv.lifetime.owed.add(-1)
	}
}

// debts counts the requests whose caller must learn how far they got before the server
// ends. The zero value is ready for use.
type debts struct {
	mu   sync.Mutex
	n    int
	none chan struct{} // closed when n is 0; nil: nobody waits for that
}

func (d *debts) add(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.n += n; d.n == 0 && d.none != nil {
		close(d.none)
		d.none = nil
	}
}

// paid returns a channel that is closed once there are no debts.
func (d *debts) paid() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := make(chan struct{})
	if d.n == 0 {
		close(c)
	} else {
		d.none = c
	}
	return c
}
