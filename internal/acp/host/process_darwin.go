package host

import "syscall"

// detached makes the agent lead a session of its own. Its standard input ends with
// the host.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
