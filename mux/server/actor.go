package server

import (
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
	} else {
		by.Terminal = p.Terminal()
	}
	return by
}

// excerptBytes bounds the part of a message that an event repeats.
const excerptBytes = 200

// excerpt is the first line of a message, cut.
func excerpt(text string) string {
	line, _, _ := strings.Cut(strings.TrimLeft(text, "\n"), "\n")
	return strings.ToValidUTF8(line[:min(len(line), excerptBytes)], "")
}
