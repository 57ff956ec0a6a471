//go:build unix

package attach

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/mux/api"
)

// catchSignals catches the signals that would end this process with the terminal in
// raw mode.
func catchSignals(signals chan<- os.Signal) {
	signal.Notify(signals, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT)
}

// catchRest catches the signals that can wait for the first paint, since each
// costs several thread switches. It looks up what an earlier one would have
// reported.
func (a *attachment) catchRest(signals chan<- os.Signal, was api.Size) {
	signal.Notify(signals, unix.SIGCONT)
	if a.screen.givenBack() {
		a.continued()
	}
	if a.o.Resized == nil {
		signal.Notify(signals, unix.SIGWINCH)
		if cols, rows := a.screen.size(); was != (api.Size{Cols: cols, Rows: rows}) {
			a.sender.resized.note()
		}
	}
}

// continued continues after a shell used the terminal; a new connection
// repaints it.
func (a *attachment) continued() {
	a.screen.makeRawAgain()
	a.over.again()
	a.link.drop()
}

// watch handles signals and size changes until the end. was is the size that
// the server has.
func (a *attachment) watch(signals chan os.Signal, was api.Size) {
	resized, painted := a.o.Resized, a.viewer.painted
	for {
		select {
		case <-a.ctx.Done():
			return
		case <-painted:
			painted = nil
			a.catchRest(signals, was)
		case _, ok := <-resized:
			if !ok {
				resized = nil
				continue
			}
			a.sender.resized.note()
			a.over.draw.note()
		case s := <-signals:
			switch s {
			case unix.SIGWINCH:
				a.sender.resized.note()
				a.over.draw.note()
			case unix.SIGCONT:
				a.continued()
			default:
				a.cancel(&SignalError{s})
				return
			}
		}
	}
}
