package attach

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keys"
)

// errDetachKeys is the cause of an end by the detach keys.
var errDetachKeys = errors.New("detached")

// ErrLost is wrapped by the error of an attachment whose server went away and
// did not come back. The session itself is not affected.
var ErrLost = errors.New("the connection to the mux server was lost")

// SignalError is the error of an attachment that a signal to this process
// ended; the session goes on.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "ended by signal: " + e.Signal.String() }

// Reason says why an attachment ended.
type Reason string

// Reasons of the end of an attachment.
const (
	Detached Reason = "detached" // the person left, or had to; the session goes on
	Exited   Reason = "exited"   // the program ended
	Lost     Reason = "lost"     // the server went away, or the terminal
	Kicked   Reason = "kicked"   // the server sent the client away
)

// Options are a person's terminal and how it is connected. The zero value
// shows the session and takes no input.
type Options struct {
	// In is where keys come from. A terminal is put in raw mode until the end.
	// Nothing is read from an *os.File after the end; from another reader
	// without SetReadDeadline one Read may still be under way.
	In io.Reader
	// Out is where the screen goes.
	Out io.Writer
	// Size returns the columns and rows of the terminal. nil asks Out, then In;
	// an error or a size of 0 means that of the session.
	Size func() (cols, rows int, err error)
	// Resized delivers a value when the size changed; nil means SIGWINCH.
	Resized <-chan struct{}

	ReadOnly   bool            // send no input; the detach keys still work
	DetachKeys keys.DetachKeys // zero: DefaultDetach
	Scrollback bool            // show the history first
	Alone      bool            // send the other terminals away

	// Reconnect is how long a server that went away is waited for. 0: 10 s;
	// negative: not at all.
	Reconnect time.Duration
}

// Result is how an attachment ended.
type Result struct {
	Reason Reason
	Exit   *api.Exit // of the program, for Exited; nil when it is not known
	Rest   []byte    // typed behind the detach keys and read with them
	Lost   uint64    // bytes that were typed while a server died and may not have arrived
}

// Terminal connects a person's terminal to a session until the detach
// keys, the program's end, ctx, or SIGINT, SIGTERM, SIGHUP or SIGQUIT to this process,
// which it catches meanwhile. The terminal's modes are those from before in
// every case, a panic included, and its cursor stands on a fresh last line.
//
// When the server goes away, it is waited for and the session painted again;
// what was typed meanwhile is sent then. The error is nil when the person
// detached, the program ended or the server sent the client away; ErrNotFound
// or ErrExited when there is no such session running; a [*SignalError]; or it
// wraps ErrLost or the error of ctx.
//
// It writes what the session shows and nothing of its own.
func Terminal(ctx context.Context, c *client.Client, name string, o Options) (Result, error) {
	return attachTerminal(ctx, &session{client: c, name: name}, o)
}

const (
	maxQueued    = 256                    // messages to the server that wait
	readSize     = 4 << 10                // bytes of input read at once
	keyTimeout   = 50 * time.Millisecond  // of silence that ends an unfinished key
	leaveTimeout = 300 * time.Millisecond // for the server to take what was typed before a detach, and the detach
)

// message is one message to the server: input, or the last one.
type message struct {
	input  []byte
	detach bool
}

// attachment is one run of Terminal.
type attachment struct {
	o       Options
	session *session
	screen  *outerTerminal

	ctx    context.Context // ends with the attachment; its cause says why
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup

	messages chan message
	resized  chan struct{} // the size changed; capacity 1
	looked   chan struct{} // the terminal said what it looks like; capacity 1
	changed  chan struct{} // the terminal said that its colours changed; capacity 1
	painted  chan struct{} // closed when the terminal shows something
	look     outerLook
	unsent   []byte   // input that could not be written; of the writer
	sized    api.Size // what the server has for the size; of the writer
	shown    progress // how far the terminal came; of the reader
	again    bool     // the connection is not the first; of the reader
	seen     bool     // painted is closed; of the reader
	asked    bool     // the terminal was asked what it looks like; of the reader

	mu      sync.Mutex
	conn    *client.AttachConn // the connection in use, nil in between
	kept    keptInput
	stale   bool   // somebody else wrote on the terminal
	leaving bool   // the detach keys were typed; the server may close now
	rest    []byte // what was typed behind them
}

// panicError carries a panic of a task to the caller's goroutine.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

func attachTerminal(ctx context.Context, session *session, o Options) (Result, error) {
	a := &attachment{
		o: o, session: session,
		messages: make(chan message, maxQueued),
		resized:  make(chan struct{}, 1),
		looked:   make(chan struct{}, 1),
		changed:  make(chan struct{}, 1),
		painted:  make(chan struct{}),
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	defer a.cancel(nil)
	a.screen = newOuterTerminal(o)
	signals := make(chan os.Signal, 8)
	defer signal.Stop(signals)
	defer a.screen.restore()

	// The first connection comes before the terminal is touched, so that an
	// error finds it as it was. What else is needed is made ready while the
	// server answers, as it takes as long.
	cols, rows := a.screen.size()
	caught := make(chan struct{})
	a.start(func() {
		catchSignals(signals)
		close(caught)
		a.watch(signals, api.Size{Cols: cols, Rows: rows})
	})
	conn, err := session.dial(a.ctx, cols, rows, o, nil, func() { a.screen.open(a.ctx) })
	if err == nil {
		defer conn.Drop()
		<-caught
		err = a.screen.makeRaw()
	}
	var result Result
	if err == nil {
		a.sized = api.Size{Cols: cols, Rows: rows}
		result, err = a.run(conn)
	} else if a.ctx.Err() != nil {
		result, err = a.result(ending{cause: context.Cause(a.ctx)})
	}
	a.cancel(nil)
	a.tasks.Wait()
	a.screen.restore()
	result.Lost = a.lost()
	var p *panicError
	if errors.As(err, &p) {
		panic(p)
	}
	return result, err
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
	for {
		end := a.serve(conn)
		if a.left(end) {
			a.cancel(errDetachKeys)
		}
		if end.lost != nil && a.ctx.Err() == nil {
			if conn, end = a.reconnect(end.lost); conn != nil {
				continue
			}
		}
		if a.ctx.Err() != nil && !end.exited && !end.kicked {
			end = ending{cause: context.Cause(a.ctx)}
		}
		return a.result(end)
	}
}

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

// ending is why a connection, and perhaps the attachment, ended: one of them.
type ending struct {
	cause  error // what cancelled the attachment
	lost   error // the connection broke
	failed error // the terminal or the session does not allow to go on
	kicked bool
	exited bool
	exit   *api.Exit
}

// result says what an ending means to the caller.
func (a *attachment) result(e ending) (Result, error) {
	var p *panicError
	switch {
	case errors.Is(e.cause, errDetachKeys):
		a.mu.Lock()
		defer a.mu.Unlock()
		return Result{Reason: Detached, Rest: a.rest}, nil
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
