package native

import (
	"context"
	"fmt"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// programGap is how long a program may be missing: some restart themselves.
const programGap = 300 * time.Millisecond

// AwaitProgramGone implements runtime.ProgramWatcher, on this machine only.
func (p *Provider) AwaitProgramGone(ctx context.Context, name string, names []string) error {
	if p.o.Machine != nil {
		return fmt.Errorf("watch the program of %s: %w", name, runtime.ErrUnsupported)
	}
	info, err := p.live(ctx, name)
	if err != nil {
		return fmt.Errorf("watch the program of %s: %w", name, err)
	}
	tree := proctree.Tree{Root: info.PID, SID: info.PID, ID: info.ID}
	missing := false
	for {
		all, err := tree.Members()
		if err != nil {
			return fmt.Errorf("watch the program of %s: %w", name, err)
		}
		var programs []proctree.Proc
		for _, one := range all {
			if one.Matches(names) {
				programs = append(programs, one)
			}
		}
		switch {
		case len(programs) > 0:
			missing = false
			err = proctree.AwaitEnd(ctx, programs)
		case missing:
			return nil
		default:
			missing = true
			err = clock.Sleep(ctx, programGap)
		}
		if err != nil {
			return err
		}
	}
}
