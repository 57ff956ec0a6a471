package tui

import "syscall"

// endsWithParent ends the program with a supervisor that is killed; it restores the terminal.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }
