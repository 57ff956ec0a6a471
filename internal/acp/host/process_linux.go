package host

import "syscall"

// detached makes the agent lead a session of its own, and end with the host: SIGTERM
// lets it end its own children, which SIGKILL leaves behind. If the host is killed, the
// multiplexer ends the rest, such as children that ignore SIGTERM.
func detached() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGTERM}
}
