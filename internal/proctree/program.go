package proctree

import (
	"context"
	"slices"
	"time"
)

// envStep is the polling interval for a process in execve, whose end is not
// reported.
const envStep = 5 * time.Millisecond

// ProgramEnviron returns the environment of a session's program. During execve it is
// empty: ProgramEnviron waits until it has the session's id, or any if id is "".
func ProgramEnviron(ctx context.Context, pid int, id string) (map[string]string, error) {
	t := time.NewTicker(envStep)
	defer t.Stop()
	for {
		env, err := Environ(pid)
		if has := env[SessionVar]; err != nil || has != "" && (id == "" || has == id) {
			return env, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.C:
		}
	}
}

// goneFor is how long a program may be missing: some restart themselves.
const goneFor = 300 * time.Millisecond

// AwaitGone returns nil when no process of the tree matches one of the names (see
// [Proc.Matches]), and none did for a moment.
func AwaitGone(ctx context.Context, tree Tree, names []string) error {
	missing := false
	for {
		all, err := tree.Members()
		if err != nil {
			return err
		}
		programs := slices.DeleteFunc(all, func(p Proc) bool { return !p.Matches(names) })
		switch {
		case len(programs) > 0:
			missing = false
			err = AwaitEnd(ctx, programs)
		case missing:
			return nil
		default:
			missing = true
			select {
			case <-time.After(goneFor):
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if err != nil {
			return err
		}
	}
}
