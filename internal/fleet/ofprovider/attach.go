package ofprovider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/runtime"
)

// Attach implements [fleet.Fleet].
func (s *Sessions) Attach(ctx context.Context, id string, o fleet.AttachOptions) (fleet.Terminal, error) {
	m, err := s.mux(ctx, id)
	if err != nil {
		return nil, err
	}
	if m != nil {
		return m.Attach(ctx, id, o)
	}
	can, err := runtime.CapabilitiesFor(ctx, s.provider, id)
	if err != nil {
		return nil, wrong(err)
	}
	if !can.Attach {
		return nil, fmt.Errorf("attach: %w", fleet.ErrUnsupported)
	}
	if running, err := s.provider.IsRunning(ctx, id); err != nil {
		return nil, wrong(err)
	} else if !running {
		return nil, fleet.ErrNotFound
	}
	t := &terminal{cols: max(o.Cols, 2), rows: max(o.Rows, 2), resized: make(chan struct{}, 1)}
	in, typed := io.Pipe()
	shown, out := io.Pipe()
	t.typed, t.shown = typed, shown
	ctx, t.cancel = context.WithCancel(context.WithoutCancel(ctx))
	t.attached.Go(func() {
		err := s.provider.Attach(ctx, id, runtime.Terminal{
			In: in, Out: out, Size: t.size, Resized: t.resized, ReadOnly: o.ReadOnly, DetachKeys: "none",
		})
		in.CloseWithError(io.ErrClosedPipe)
		if err == nil || errors.Is(err, context.Canceled) {
			err = io.EOF
		}
		out.CloseWithError(err)
	})
	return t, nil
}

// terminal is a terminal that a provider attaches to.
type terminal struct {
	typed    *io.PipeWriter
	shown    *io.PipeReader
	resized  chan struct{}
	cancel   context.CancelFunc
	attached sync.WaitGroup

	mu         sync.Mutex // guards the size
	cols, rows int
}

func (t *terminal) size() (cols, rows int, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.cols, t.rows, nil
}

func (t *terminal) Read(p []byte) (int, error)  { return t.shown.Read(p) }
func (t *terminal) Write(p []byte) (int, error) { return t.typed.Write(p) }

func (t *terminal) Resize(cols, rows int) error {
	t.mu.Lock()
	t.cols, t.rows = max(cols, 2), max(rows, 2)
	t.mu.Unlock()
	select {
	case t.resized <- struct{}{}:
	default: // it will look anyway
	}
	return nil
}

func (t *terminal) Close() error {
	t.cancel()
	_ = t.typed.Close()
	_ = t.shown.Close() // the provider's writes fail from now on
	t.attached.Wait()
	return nil
}
