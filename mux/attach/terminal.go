package attach

import (
	"context"
	"io"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"gascity.dev/gc/vt"
)

// restoreTimeout bounds the last write to a terminal that takes no bytes.
const restoreTimeout = 500 * time.Millisecond

// hostTerminal is a person's terminal without its input: raw mode until the end,
// output, and every mode as before at the end.
type hostTerminal struct {
	in, outTTY *os.File // nil if not a terminal
	asked      func() (cols, rows int, err error)

	w        io.Writer
	reopened *os.File // outTTY, opened again for its deadline
	deadline deadliner
	stop     func()

	mu      sync.Mutex // guards what follows
	saved   *term.State
	opened  bool
	written bool
	undo    vt.Undo

	before before

	out     sync.Mutex // held while the session or what is over it is written; guards what follows
	cover   cover
	noticed bool // the last row shows a notice
}

// deadliner is a writer whose Write can be made to return.
type deadliner interface{ SetWriteDeadline(time.Time) error }

func newHostTerminal(o Options) *hostTerminal {
	t := &hostTerminal{in: terminalFile(o.In), outTTY: terminalFile(o.Out), asked: o.Size, w: o.Out}
	if o.Out == nil {
		t.w = io.Discard
	}
	return t
}

// terminalFile returns v when it is a terminal.
func terminalFile(v any) *os.File {
	f, ok := v.(*os.File)
	if !ok || f == nil {
		return nil
	}
	is := false
	if withFD(f, func(fd int) error { is = term.IsTerminal(fd); return nil }) != nil || !is {
		return nil
	}
	return f
}

// withFD calls do with f's descriptor; unlike Fd it leaves the file's mode alone.
func withFD(f *os.File, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := c.Control(func(fd uintptr) { inner = do(int(fd)) }); err != nil {
		return err
	}
	return inner
}

// size returns columns and rows within a session's limits; 0, 0 if unknown.
func (t *hostTerminal) size() (cols, rows int) {
	ask := t.asked
	if ask == nil {
		ask = t.ask
	}
	cols, rows, err := ask()
	if err != nil || cols <= 0 || rows <= 0 {
		return 0, 0
	}
	return min(max(cols, vt.MinCols), vt.MaxCols), min(max(rows, vt.MinRows), vt.MaxRows)
}

func (t *hostTerminal) ask() (cols, rows int, err error) {
	f := t.outTTY
	if f == nil {
		f = t.in
	}
	if f == nil {
		return 0, 0, nil
	}
	err = withFD(f, func(fd int) (err error) { cols, rows, err = term.GetSize(fd); return err })
	return cols, rows, err
}

// open prepares writing, so that a write which the terminal does not take ends
// with ctx.
//
// That takes a deadline, which takes a file description of our own:
// non-blocking mode on the person's would affect every program that shares it.
// If the terminal cannot be opened again, a stopped terminal can delay the end.
func (t *hostTerminal) open(ctx context.Context) {
	if t.outTTY != nil {
		if f, err := reopenTerminal(t.outTTY); err == nil {
			t.reopened, t.w, t.deadline = f, f, f
		}
	} else if d, ok := t.w.(deadliner); ok {
		t.deadline = d
	}
	if t.deadline != nil && t.deadline.SetWriteDeadline(time.Time{}) != nil {
		t.deadline = nil
		if t.reopened != nil {
			t.reopened.Close()
			t.reopened, t.w = nil, t.outTTY
		}
	}
	t.stop = func() {}
	if d := t.deadline; d != nil {
		cut := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			defer close(cut)
			d.SetWriteDeadline(time.Now())
		})
		t.stop = func() {
			if !stop() {
				<-cut // otherwise it might cut off what restore writes
			}
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opened = true
}

// makeRaw puts the terminal in raw mode.
func (t *hostTerminal) makeRaw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.in == nil {
		return nil
	}
	return withFD(t.in, func(fd int) (err error) { t.saved, err = term.MakeRaw(fd); return err })
}

// raw reports whether the input is a terminal in raw mode.
func (t *hostTerminal) raw() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.saved != nil
}

// givenBack reports whether another program restored the terminal's modes after
// makeRaw.
func (t *hostTerminal) givenBack() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved == nil {
		return false
	}
	back := false
	err := withFD(t.in, func(fd int) error {
		now, err := term.GetState(fd)
		back = err == nil && *now == *t.saved
		return err
	})
	return err == nil && back
}

// makeRawAgain puts the terminal in raw mode after a shell had it.
func (t *hostTerminal) makeRawAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil {
		withFD(t.in, func(fd int) error { _, err := term.MakeRaw(fd); return err })
	}
}

// write shows bytes of the session, unless something covers it.
func (t *hostTerminal) write(p []byte) error {
	t.out.Lock()
	defer t.out.Unlock()
	if t.cover != bare {
		return nil
	}
	t.mu.Lock()
	t.written = true
	t.undo.Note(p)
	t.mu.Unlock()
	_, err := t.w.Write(p)
	return err
}

// clearImages takes the images of kitty's protocol off the terminal: a paint follows, which
// would leave them over its text.
func (t *hostTerminal) clearImages() {
	t.out.Lock()
	defer t.out.Unlock()
	t.mu.Lock()
	p := t.undo.AppendImages(nil)
	t.mu.Unlock()
	if len(p) > 0 {
		_, _ = t.w.Write(p) // the paint reports a terminal that is gone
	}
}

// endImages asks DA1 if the terminal may still answer to images of kitty's protocol. It is
// called after the context of open has ended.
func (t *hostTerminal) endImages() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.opened || !t.undo.Images() || !t.answers() {
		return false
	}
	t.stop()
	t.stop = func() {}
	if t.deadline != nil {
		_ = t.deadline.SetWriteDeadline(time.Now().Add(restoreTimeout))
	}
	_, err := t.w.Write(append(t.undo.AppendImages(nil), "\x1b[c"...))
	return err == nil
}

// answers reports whether the terminal may be asked.
func (t *hostTerminal) answers() bool { return t.in != nil && t.outTTY != nil }

// recolored reports whether the session has set the terminal's text colours.
func (t *hostTerminal) recolored() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.undo.Noted("10;") || t.undo.Noted("11;")
}

// reset brings the terminal to a known state; a paint must follow.
func (t *hostTerminal) reset() {
	t.out.Lock()
	defer t.out.Unlock()
	if t.cover == bare {
		t.noticed = false
		t.w.Write(vt.AppendReset(nil))
	}
}

// restore undoes, once, the modes that the session set, the cursor's place and raw
// mode.
func (t *hostTerminal) restore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.opened {
		return
	}
	t.opened = false
	t.stop()
	if t.written {
		if t.deadline != nil {
			t.deadline.SetWriteDeadline(time.Now().Add(restoreTimeout))
		}
		cols, _, _ := t.ask() // not of Options.Size, which may have panicked
		t.w.Write(t.before.restore(t.undo.Append(vt.AppendReset(t.eraseNotice())), min(cols, vt.MaxCols)))
	}
	if t.deadline != nil {
		t.deadline.SetWriteDeadline(time.Time{})
	}
	if t.saved != nil {
		withFD(t.in, func(fd int) error { return term.Restore(fd, t.saved) })
		t.saved = nil
	}
	if t.reopened != nil {
		t.reopened.Close()
	}
}

// eraseNotice returns what erases a notice that is still shown.
func (t *hostTerminal) eraseNotice() []byte {
	if !t.noticed {
		return nil
	}
	return append(vt.AppendResetModes(nil), "\x1b[999;1H\x1b[2K"...)
}

// reopenTerminal opens the terminal f again, as a file description of our own with
// deadlines.
func reopenTerminal(f *os.File) (*os.File, error) {
	path := ""
	err := withFD(f, func(fd int) error { path = "/dev/fd/" + strconv.Itoa(fd); return nil })
	if err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|syscall.O_NOCTTY, 0)
}
