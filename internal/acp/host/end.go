package host

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/protocol"
	"gascity.dev/gc/internal/acp/wire"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/outcome"
)

const sigint = syscall.SIGINT

// Times of the end.
const (
	closeTime   = 2 * time.Second        // for session/close
	stdinTime   = 5 * time.Second        // for the agent to end after its input did
	killTime    = 2 * time.Second        // between SIGTERM and SIGKILL
	stderrDelay = 500 * time.Millisecond // for output of a grandchild after the agent's end
	failureTime = 10 * time.Second       // for the caller of the start to ask why it failed
)

// end is the progress of the agent's end.
type end struct {
	asked   bool // requested
	ended   bool // the agent has ended
	waiting []chan<- *control.Error
}

// close ends the agent in an orderly way: cancel, session/close, the end of its input,
// signals. answer is called when the agent has ended.
func (h *host) close(answer chan<- *control.Error) {
	h.end.waiting = append(h.end.waiting, answer)
	if h.end.asked {
		return
	}
	h.end.asked = true
	if h.turns.open != nil {
		h.turns.interrupt()
	}
	if h.phase != control.PhaseReady || !h.peer.agent.Close {
		h.hangUp()
		return
	}
	hungUp := false
	hangUp := func() {
		if !hungUp {
			hungUp = true
			h.hangUp()
		}
	}
	h.peer.call("session/close", protocol.SessionRequest{SessionID: h.peer.session}, func(wire.Message) { hangUp() })
	h.loop.after(closeTime, hangUp)
}

// hangUp closes the agent's input, and ends the agent by signals if it continues.
func (h *host) hangUp() {
	h.peer.conn.CloseWrite()
	h.loop.after(stdinTime, func() {
		h.proc.signal(syscall.SIGTERM)
		h.loop.after(killTime, func() { h.proc.signal(syscall.SIGKILL) })
	})
}

// fail ends a start. The host stays for a while, for its starter to ask why.
func (h *host) fail(f control.Failure) {
	if h.phase != control.PhaseStarting {
		return
	}
	f.Message = clean(f.Message)
	f.Stderr = h.proc.stderr.lines()
	h.phase, h.failure = control.PhaseFailed, &f
	h.conv.AddNotice(f.Message)
	for _, line := range f.Stderr {
		h.conv.AddNotice("  " + line)
	}
	h.turns.die()
	h.changed()
	h.loop.after(failureTime, func() { h.close(make(chan *control.Error, 1)) })
}

// ended handles the end of the agent: the host ends, too.
func (h *host) ended() {
	if h.phase == control.PhaseStarting && !h.end.asked {
		h.fail(control.Failure{Kind: control.FailDeath, Message: "the agent ended while it started: " + exitText(h.proc.status()), Exit: h.proc.status()})
	}
	if t := h.turns.open; t != nil {
		h.turns.close(&control.Turn{ID: t.msg.ID, Error: "the agent ended", Duration: clock.Millis(time.Since(t.began)), Ended: time.Now()})
	}
	h.turns.die()
	if h.phase != control.PhaseFailed {
		h.phase = control.PhaseEnded
	}
	h.changed()
}

// exitText is an exit status in words.
func exitText(status int) string {
	e := outcome.Exit{Code: status}
	if status > 128 {
		e.Signal = unix.SignalName(syscall.Signal(status - 128))
	}
	return e.Status()
}

// leftover reports whether the host must stay after the agent's end: nobody has asked
// yet why the start failed.
func (h *host) leftover() bool { return h.phase == control.PhaseFailed && !h.end.asked }

// removeSocket removes the control socket of a host that ends.
func removeSocket(path string) { _ = os.Remove(path) }
