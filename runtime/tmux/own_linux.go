package tmux

import "syscall"

// childAttr ends a client with this process, however that ends: tmux 3.3 keeps some
// control clients forever if their process was killed while they connected. The
// signal is sent when the thread that started the client ends (prctl(2),
// PR_SET_PDEATHSIG); Go keeps its threads. gc's terminal signals do not reach the
// client.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
