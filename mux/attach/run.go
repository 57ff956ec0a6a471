package attach

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// errDetachKeys is the cause of an end by the detach keys.
var errDetachKeys = errors.New("detached")

// attachment is one run of Terminal.
type attachment struct {
	o       Options
	session *session
	screen  *hostTerminal
	look    *hostLook
	link    *link
	sender  *sender
	viewer  *viewer
	over    *over

	ctx    context.Context // ends with the attachment; its cause says why
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup
}

func newAttachment(ctx context.Context, s *session, o Options) *attachment {
	a := &attachment{o: o, session: s, screen: newHostTerminal(o), look: new(hostLook), link: new(link)}
	a.sender = newSender(a.screen, a.look, a.link)
	a.viewer = newViewer(a.screen, a.look, a.link)
	a.over = newOver(a)
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	return a
}

// run shows the session until the end and waits for every task.
func (a *attachment) run(conn *client.AttachConn) (Result, error) {
	input, err := openInput(a.ctx, a.o.In)
	if err != nil {
		return Result{Reason: Lost}, err
	}
	defer func() {
		a.cancel(nil)
		input.wake()
		a.tasks.Wait()
		a.swallow(input)
		input.close()
	}()
	if a.o.In != nil {
		a.start(func() { a.readKeys(input) })
	}
	if a.o.Notices != nil {
		a.start(a.passNotices)
	}
	a.start(a.over.run)
	if a.o.Welcome != "" {
		a.start(a.welcome)
	}
	for {
		end := a.serve(conn)
		if end.lost != nil && a.link.isLeaving() {
			a.cancel(errDetachKeys)
		}
		if end.lost != nil && a.ctx.Err() == nil {
			if conn, end = a.reconnect(end.lost); conn != nil {
				continue
			}
		}
		if end.exited {
			a.showEnd()
		}
		if a.ctx.Err() != nil && !end.exited && !end.kicked {
			end = ending{cause: context.Cause(a.ctx)}
		}
		return a.result(end)
	}
}

// passNotices asks the server for a place in its output for each notice.
func (a *attachment) passNotices() {
	for {
		select {
		case <-a.ctx.Done():
			return
		case b, ok := <-a.o.Notices:
			if !ok {
				return
			}
			a.look.notice(b)
			a.sender.changed.note()
		}
	}
}

// serve uses one connection until it ends.
func (a *attachment) serve(conn *client.AttachConn) ending {
	ctx, cancel := context.WithCancel(a.ctx)
	if a.link.use(conn) {
		conn.Drop() // it would continue what the terminal does not show any more
	}
	written := make(chan struct{})
	a.start(func() {
		defer close(written)
		defer cancel()  // without a writer, reading ends too
		defer a.catch() // a panic ends the attachment before it ends the connection
		a.sender.run(ctx, conn)
	})
	if a.o.Where != "" {
		a.start(func() { a.watchAnswers(ctx, conn) })
	}
	end := a.viewer.run(ctx, conn)
	cancel()
	a.link.use(nil)
	conn.Drop()
	<-written
	return end
}

// reconnect waits for the server to come back. Without a connection the ending
// says why.
func (a *attachment) reconnect(lost error) (*client.AttachConn, ending) {
	limit := a.o.Reconnect
	if limit == 0 {
		limit = api.ReconnectWithin
	}
	if limit < 0 {
		return nil, ending{lost: lost}
	}
	ctx, cancel := context.WithTimeout(a.ctx, limit)
	defer cancel()
	late := time.AfterFunc(noticeAfter, func() { a.tell(); a.link.drop() })
	defer late.Stop()
	const maxDelay = 250 * time.Millisecond
	for delay := 5 * time.Millisecond; ; delay = min(2*delay, maxDelay) {
		if a.link.takeStale() {
			a.viewer.shown = progress{}
		}
		cols, rows := a.screen.size()
		a.session.images = a.look.images()
		conn, err := a.session.dial(ctx, cols, rows, a.o, &a.viewer.shown, nil)
		switch {
		case err == nil:
			a.viewer.again, a.sender.sized = true, api.Size{Cols: cols, Rows: rows}
			return conn, ending{}
		case errors.Is(err, api.ErrNotFound), errors.Is(err, api.ErrExited):
			return nil, ending{exited: true, exit: a.session.exit(ctx)}
		case errors.Is(err, api.ErrForeign):
			return nil, ending{lost: err}
		}
		if clock.Sleep(ctx, delay) != nil {
			return nil, ending{lost: lost}
		}
	}
}

// panicError carries a panic of a task to the caller's goroutine.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// start runs a task; a panic in it ends the attachment instead of the process,
// so that the terminal can be restored first.
func (a *attachment) start(task func()) {
	a.tasks.Go(func() {
		defer a.catch()
		task()
	})
}

// catch ends the attachment with a panic; it is deferred.
func (a *attachment) catch() {
	if v := recover(); v != nil {
		a.cancel(&panicError{v, debug.Stack()})
	}
}

// ending is why a connection, and perhaps the attachment, ended. One field is
// set.
type ending struct {
	cause  error // what cancelled the attachment
	lost   error // the connection broke
	failed error // the terminal or the session cannot continue
	kicked bool
	exited bool
	exit   *api.Exit
}

// result is what an ending means to the caller.
func (a *attachment) result(e ending) (Result, error) {
	var p *panicError
	switch {
	case errors.Is(e.cause, errDetachKeys) && a.over.to != "":
		return Result{Reason: Switched, To: a.over.to, Rest: a.link.typedBehind()}, nil
	case errors.Is(e.cause, errDetachKeys):
		return Result{Reason: Detached, Rest: a.link.typedBehind()}, nil
	case errors.As(e.cause, &p):
		return Result{Reason: Lost}, e.cause
	case errors.Is(e.cause, errTerminalGone):
		return Result{Reason: Lost}, e.cause
	case e.cause != nil:
		return Result{Reason: Detached}, e.cause
	case e.exited:
		return Result{Reason: Exited, Exit: e.exit}, nil
	case e.kicked:
		return Result{Reason: Kicked}, nil
	case e.failed != nil:
		return Result{Reason: Lost}, e.failed
	}
	return Result{Reason: Lost}, fmt.Errorf("%w: %w", ErrLost, e.lost)
}
