package proctree

import (
	"context"
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
