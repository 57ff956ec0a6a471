package mux

import "golang.org/x/sys/unix"

// dup2 makes the descriptor to a copy of from, closed by exec.
func dup2(from, to int) error {
	if err := unix.Dup2(from, to); err != nil || to <= 2 {
		return err
	}
	unix.CloseOnExec(to)
	return nil
}

// removals is nothing here: a starter wakes the server.
type removals struct{}

func watchRemovals([]string, ...string) (*removals, error) { return nil, nil }

func (*removals) wait(done <-chan struct{}) { <-done }

func (*removals) close() {}
