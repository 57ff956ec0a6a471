package server

import (
	"log/slog"

	"gascity.dev/gc/mux/exec"
)

// output is where the output of a background command goes. session.mu guards it.
type output struct {
	s       *session
	sink    *exec.Output  // nil if the session is not of a background command
	resumed chan struct{} // closed when output is read again; nil without a waiter
}

// open gets the sink of a command. mu is held, or no one else has the session.
func (o *output) open() {
	if !o.s.rec.Exec {
		return
	}
	sink, err := o.s.srv.commands.Output(o.s.rec.ID)
	if err != nil {
		slog.Warn("output of a command is not kept", "command", o.s.rec.ID, "error", err)
		return
	}
	o.sink = sink
}

// held reports whether output stays with the program: the callers of a command have to
// take what there is, or the journal has no space. mu is held.
func (o *output) held() bool {
	s := o.s
	return s.storage.stall.on || !s.life.ended() && o.sink.Full(s.life.dead != nil)
}

// resume reads output again unless it is held. mu is held.
func (o *output) resume() {
	s := o.s
	if o.held() {
		return
	}
	s.activity.notSilent()
	o.wake()
	s.srv.loop.Arm(&s.tty)
}

// wake wakes a reader that waits until output is not held. mu is held.
func (o *output) wake() {
	if o.resumed != nil {
		close(o.resumed)
		o.resumed = nil
	}
}

// resumption returns the channel that closes when output is read again. mu is held.
func (o *output) resumption() <-chan struct{} {
	if o.resumed == nil {
		o.resumed = make(chan struct{})
	}
	return o.resumed
}
