package tmux

import "syscall"

// childAttr keeps gc's terminal signals from a client.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
