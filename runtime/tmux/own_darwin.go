package tmux

import "syscall"

// childAttr is of a client. Keys for gc are not for it.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
