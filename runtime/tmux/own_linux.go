package tmux

import "syscall"

// childAttr is of a client that ends when this process does, however: tmux 3.3
// keeps some control clients for ever whose process was killed while they
// connected. The signal comes when the thread that started it ends (prctl(2),
// PR_SET_PDEATHSIG); Go keeps its threads. Keys for gc are not for the client.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
