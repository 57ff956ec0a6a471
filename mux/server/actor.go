package server

import (
	"fmt"
	"net/http"
	"strings"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// actor returns the process that made a request; nil if it is gone, or on another
// machine.
func (t *sessionTable) actor(r *http.Request) *api.Actor {
	pid := endpoint.Peer(r)
	p, err := proctree.Get(pid)
	if pid <= 0 || err != nil {
		return nil
	}
	by := &api.Actor{PID: pid}
	if s := t.around(pid); s != nil {
		by.Session = s.name()
	} else if p.TTY != 0 {
		by.Terminal = terminalName(p.TTY)
	}
	return by
}

// Major numbers of Linux's pseudoterminals (Documentation/admin-guide/devices.txt).
const (
	firstPTS = 136
	lastPTS  = 143
)

// terminalName returns "pts/3" for the device number of a controlling terminal as
// proc(5) has it, "tty" for any other.
func terminalName(dev uint64) string {
	major, minor := dev>>8&0xfff, dev&0xff|dev>>12&0xfff00
	if major < firstPTS || major > lastPTS {
		return "tty"
	}
	return fmt.Sprintf("pts/%d", (major-firstPTS)<<8|minor)
}

// excerptBytes bounds the part of a message that an event repeats.
const excerptBytes = 200

// excerpt is the first line of a message, cut.
func excerpt(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return strings.ToValidUTF8(line[:min(len(line), excerptBytes)], "")
}
