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

// life is how far the agent is between its start and its end.
type life struct {
	h       *host
	phase   string           // one of control.Phase…
	failure *control.Failure // PhaseFailed
	asked   bool             // the end is requested
	over    bool             // the agent has ended
	result  int              // the exit status of an agent that was ended after its work
	worked  bool             // result counts
	waiting []chan<- *control.Error
}

// close ends the agent in an orderly way: cancel, session/close, the end of its input,
// signals. answer is called when the agent has ended.
func (l *life) close(answer chan<- *control.Error) {
	l.waiting = append(l.waiting, answer)
	if l.asked {
		return
	}
	l.asked = true
	if l.h.turns.open != nil {
		l.h.turns.interrupt("")
	}
	if l.phase != control.PhaseReady || !l.h.peer.agent.Close {
		l.hangUp()
		return
	}
	hungUp := false
	hangUp := func() {
		if !hungUp {
			hungUp = true
			l.hangUp()
		}
	}
	l.h.peer.call("session/close", protocol.SessionRequest{SessionID: l.h.peer.session}, func(wire.Message) { hangUp() })
	l.h.loop.after(closeTime, hangUp)
}

// finish ends an agent whose work is done. The exit status says how its last turn ended:
// 0 for end_turn, 1 for any other end.
func (l *life) finish(last *control.Turn) {
	if l.asked {
		return
	}
	l.worked = true
	if last.Error != "" || last.StopReason != "end_turn" {
		l.result = 1
	}
	l.close(make(chan *control.Error, 1))
}

// status is the exit status of the host: the agent's, unless the host ended it after its
// work.
func (l *life) status() int {
	if l.worked {
		return l.result
	}
	return l.h.proc.status()
}

// hangUp closes the agent's input, and ends the agent by signals if it continues.
func (l *life) hangUp() {
	l.h.peer.conn.CloseWrite()
	l.h.loop.after(stdinTime, func() {
		l.h.proc.signal(syscall.SIGTERM)
		l.h.loop.after(killTime, func() { l.h.proc.signal(syscall.SIGKILL) })
	})
}

// fail ends a start. The host stays for a while, for its starter to ask why.
func (l *life) fail(f control.Failure) {
	if l.phase != control.PhaseStarting {
		return
	}
	f.Message = clean(f.Message)
	f.Stderr = l.h.proc.stderr.lines()
	l.phase, l.failure = control.PhaseFailed, &f
	l.h.conv.AddNotice(f.Message)
	for _, line := range f.Stderr {
		l.h.conv.AddNotice("  " + line)
	}
	l.h.turns.die()
	l.h.changed()
	l.h.loop.after(failureTime, func() { l.close(make(chan *control.Error, 1)) })
}

// ended handles the end of the agent: the host ends, too.
func (l *life) ended() {
	if l.phase == control.PhaseStarting && !l.asked {
		l.fail(control.Failure{Kind: control.FailDeath, Message: "the agent ended while it started: " + exitText(l.h.proc.status()), Exit: l.h.proc.status()})
	}
	if t := l.h.turns.open; t != nil {
		l.h.turns.close(&control.Turn{ID: t.msg.ID, Error: "the agent ended", Duration: clock.Millis(time.Since(t.began)), Ended: time.Now()})
	}
	l.h.turns.die()
	if l.phase != control.PhaseFailed {
		l.phase = control.PhaseEnded
	}
	l.h.changed()
}

// exitText is an exit status in words.
func exitText(status int) string {
	e := outcome.Exit{Code: status}
	if status > 128 {
		e.Signal = unix.SignalName(syscall.Signal(status - 128))
	}
	return e.Status()
}

// silent handles the end of the agent's output: without it the agent is of no use.
func (l *life) silent() {
	l.h.peer.conn.CloseWrite()
	l.h.loop.after(stdinTime, func() { l.h.proc.signal(syscall.SIGTERM) })
	l.h.loop.after(stdinTime+killTime, func() { l.h.proc.signal(syscall.SIGKILL) })
}

// leftover reports whether the host must stay after the agent's end: nobody has asked
// yet why the start failed.
func (l *life) leftover() bool { return l.phase == control.PhaseFailed && !l.asked }

// removeSocket removes the control socket of a host that ends.
func removeSocket(path string) { _ = os.Remove(path) }
