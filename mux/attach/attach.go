package attach

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/attach/menu"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/keys"
)

// ErrLost is wrapped by the error of an attachment whose server went away and
// did not come back. The session itself is not affected.
var ErrLost = errors.New("the connection to the mux server was lost")

// SignalError is the error of an attachment that a signal to this process
// ended; the session keeps running.
type SignalError struct{ Signal os.Signal }

// Error names the signal.
func (e *SignalError) Error() string { return "ended by signal: " + e.Signal.String() }

// Reason says why an attachment ended.
type Reason string

// Reasons of the end of an attachment.
const (
	Detached Reason = "detached" // by the person, ctx or a signal; the session keeps running
	Exited   Reason = "exited"   // the program ended
	Lost     Reason = "lost"     // the server or the terminal went away
	Kicked   Reason = "kicked"   // the server sent the client away
	Switched Reason = "switched" // the person chose another session: Result.To
)

// Options are a person's terminal and how it is connected. The zero value
// shows the session and takes no input.
type Options struct {
	// In is where keys come from. A terminal is put in raw mode until the end.
	// An *os.File is not read after the end; another reader without
	// SetReadDeadline may still be in a Read.
	In io.Reader
	// Out is where the screen goes.
	Out io.Writer
	// Size returns the columns and rows of the terminal. nil asks Out, then In.
	// After an error or a size of 0, the session keeps its own size.
	Size func() (cols, rows int, err error)
	// Resized delivers a value when the size changed; nil means SIGWINCH.
	Resized <-chan struct{}

	ReadOnly   bool            // send no input; the detach keys still work
	DetachKeys keys.DetachKeys // zero: the default ones
	Keys       *Keys           // in place of DetachKeys, with the keys of other commands
	Scrollback bool            // show the history first
	Alone      bool            // detach the other terminals

	// Reconnect is how long to wait for a server that went away. 0: 10 s;
	// negative: not at all.
	Reconnect time.Duration

	// Notices are control sequences that show nothing, such as OSC 9, for the terminal. Each
	// is written whole, between two sequences of the session; nil for none.
	Notices <-chan []byte

	// Choices lists the sessions that a person may switch to; nil: none.
	Choices func(ctx context.Context) ([]menu.Item, error)

	// Welcome is shown for a moment when the attachment begins; "" for nothing.
	Welcome string

	// Where is the machine of the session, for the person, if it is another one; "" is
	// this one.
	Where string
}

// Result is how an attachment ended.
type Result struct {
	Reason Reason
	Exit   *api.Exit // of the program, for Exited; nil if unknown
	To     string    // the name of the choice, for Switched
	Rest   []byte    // input read together with the detach keys, after them
	Lost   uint64    // bytes typed while a server died that may have been lost
}

// Terminal shows a session on a person's terminal until the detach keys, the end of
// the program or ctx, or a SIGINT, SIGTERM, SIGHUP or SIGQUIT to this process. It
// always restores the terminal's modes, even after a panic, and leaves the cursor on
// a fresh last line.
//
// When the server goes away, Terminal waits for it, repaints the session and sends
// the input typed meanwhile. The error is nil when the person detached, the
// program ended or the server sent the client away; ErrNotFound or ErrExited if no
// such session runs; a [*SignalError]; or it wraps ErrLost or the error of ctx.
func Terminal(ctx context.Context, c *client.Client, name string, o Options) (Result, error) {
	a := newAttachment(ctx, &session{client: c, name: name}, o)
	defer a.cancel(nil)
	signals := make(chan os.Signal, 8)
	defer signal.Stop(signals)
	defer a.screen.restore()

	// Connect before touching the terminal: an error leaves it unchanged. The
	// rest is prepared while the server answers.
	cols, rows := a.screen.size()
	caught := make(chan struct{})
	a.start(func() {
		catchSignals(signals)
		close(caught)
		a.watch(signals, api.Size{Cols: cols, Rows: rows})
	})
	conn, err := a.session.dial(a.ctx, cols, rows, o, nil, func() { a.screen.open(a.ctx) })
	if err == nil {
		defer conn.Drop()
		<-caught
		err = a.screen.makeRaw()
	}
	var result Result
	if err == nil {
		a.sender.sized = api.Size{Cols: cols, Rows: rows}
		result, err = a.run(conn)
	} else if a.ctx.Err() != nil {
		result, err = a.result(ending{cause: context.Cause(a.ctx)})
	}
	a.cancel(nil)
	a.tasks.Wait()
	a.screen.restore()
	result.Lost = a.link.lost()
	var p *panicError
	if errors.As(err, &p) {
		panic(p)
	}
	return result, err
}
