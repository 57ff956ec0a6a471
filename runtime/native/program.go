package native

import (
	"context"
	"fmt"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// programWatcher is a Machine that can wait there for the end of a session's program.
type programWatcher interface {
	// Gone is proctree.AwaitGone of the tree of a session.
	Gone(ctx context.Context, pid int, id string, names []string) error
}

// AwaitProgramGone implements runtime.ProgramWatcher.
func (p *Provider) AwaitProgramGone(ctx context.Context, name string, names []string) error {
	info, err := p.live(ctx, name)
	if err == nil {
		err = p.gone(ctx, info.PID, info.ID, names)
	}
	if err != nil {
		return fmt.Errorf("watch the program of %s: %w", name, err)
	}
	return nil
}

func (p *Provider) gone(ctx context.Context, pid int, id string, names []string) error {
	if p.o.Machine == nil {
		return proctree.AwaitGone(ctx, proctree.Tree{Root: pid, SID: pid, ID: id}, names)
	}
	w, ok := p.o.Machine.(programWatcher)
	if !ok {
		return runtime.ErrUnsupported
	}
	return away(w.Gone(ctx, pid, id, names))
}
