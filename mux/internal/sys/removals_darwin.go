package sys

import "golang.org/x/sys/unix"

// Dup2 makes to a copy of from, close-on-exec.
func Dup2(from, to int) error {
	if err := unix.Dup2(from, to); err != nil || to <= 2 {
		return err
	}
	unix.CloseOnExec(to)
	return nil
}

// removals watches nothing here: a starter wakes the server.
type removals struct{}

func WatchRemovals([]string, ...string) (*removals, error) { return nil, nil }

func (*removals) Wait(done <-chan struct{}) { <-done }

func (*removals) Close() {}
