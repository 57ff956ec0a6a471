package proctree

import "fmt"

// Major numbers of Linux's pseudoterminals (Documentation/admin-guide/devices.txt).
const (
	firstPTS = 136
	lastPTS  = 143
)

// Terminal returns "pts/3" for a process whose controlling terminal is that of Linux,
// "tty" for any other terminal, "" without one.
func (p Proc) Terminal() string {
	if p.TTY == 0 {
		return ""
	}
	major, minor := p.TTY>>8&0xfff, p.TTY&0xff|p.TTY>>12&0xfff00
	if major < firstPTS || major > lastPTS {
		return "tty"
	}
	return fmt.Sprintf("pts/%d", (major-firstPTS)<<8|minor)
}
