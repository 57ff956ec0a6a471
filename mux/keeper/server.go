package keeper

import (
	"fmt"
	"log/slog"
	"syscall"
	"time"

	"gascity.dev/gc/internal/trim"
	"gascity.dev/gc/mux/internal/slack"
	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// The pauses before the restart of a server that keeps ending before it is
// ready, and how long an upgraded one may take to become ready.
const (
	restartFirst = 10 * time.Millisecond
	restartMax   = 5 * time.Second
	upgradeLimit = 5 * time.Second
)

// Descriptors that a server starts with.
const (
	ServerControlFD = 3
	ServerLockFD    = 4
)

// startServer starts the next generation; fails counts those before it that
// were never ready. mu is held.
func (k *keeper) startServer(fails int) error {
	mine, theirs, err := sys.SocketPair()
	if err != nil {
		return err
	}
	p := k.image
	if k.next != nil {
		p = *k.next
	}
	argv := []string{ServerName, Mark, k.dir, k.socket, p.version}
	if k.killed {
		argv = append(argv, ServerKilled)
	}
	var pid int
	slack.Do(k.slack, func() {
		pid, err = p.start(argv, []uintptr{0, 1, 2, uintptr(theirs), uintptr(k.lock)}, nil, &syscall.SysProcAttr{})
	})
	unix.Close(theirs)
	if err != nil {
		unix.Close(mine)
		return fmt.Errorf("start the server: %w", err)
	}
	conn, err := newConn(mine)
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		return err
	}
	k.writePID(pid)
	g := k.serve(pid, conn, fails)
	g.program = p
	if k.next != nil {
		g.trial = time.AfterFunc(upgradeLimit, func() { k.giveUp(g) })
	}
	return nil
}

// serve makes pid, at the other end of conn, the server. mu is held.
func (k *keeper) serve(pid int, conn *conn, fails int) *generation {
	g := &generation{
		pid: pid, conn: conn, program: k.image, started: time.Now(), fails: fails,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
	k.server = g
	go k.listen(g)
	go k.sendExits(g)
	return g
}

// watchServer adopts a running server that is not a child: a server whose
// keeper died starts us. mu is held.
func (k *keeper) watchServer(pid, fd int) error {
	conn, err := newConn(fd)
	if err != nil {
		return err
	}
	g := k.serve(pid, conn, 0)
	g.ready = true
	k.writePID(pid)
	go func() {
		<-g.done // the socket closes with the process, or when the server gives this keeper up
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.stop {
			k.end(0)
			return
		}
		k.mu.Unlock()
		WaitPID(pid)
		k.mu.Lock()
		if k.server == g {
			k.serverEnded("its socket was closed", true) // how it ended is unknown
		}
	}()
	return nil
}

// writePID records the pid for starters to wake. It is in the lock file because
// it is valid exactly as long as the lock is held.
func (k *keeper) writePID(pid int) {
	b := []byte(fmt.Sprintf("%-20d\n", pid))
	_, _ = unix.Pwrite(k.lock, b, 0)
}

// ServerKilled tells a server that its predecessor was killed from outside.
const ServerKilled = "killed"

// killedFails bounds the failures counted for a server that was killed from
// outside, which does not call for a long pause.
const killedFails = 7

// serverEnded starts the next server or ends the keeper; killed means that the
// last one was killed from outside. mu is held.
func (k *keeper) serverEnded(how string, killed bool) {
	k.killed = killed
	g := k.server
	k.server = nil
	// Read what it sent before its end, above all a stop.
	go func() { <-g.done; g.conn.Close() }()
	if g.trial != nil {
		g.trial.Stop()
	}
	if k.stop {
		k.end(0)
		return
	}
	slog.Warn("the server ended", "server", g.pid, "how", how)
	k.restarts++
	fails := 0
	if !g.ready {
		if k.ready != nil { // no server was ever ready: report that to the starter
			go k.endedAtOnce(g, how)
			return
		}
		fails = g.fails + 1
		if k.next != nil {
			k.dropUpgrade("the new server ended before it was ready: " + how)
			fails = 0
		}
	} else if time.Since(g.started) < time.Second {
		fails = g.fails + 1
	}
	if killed {
		fails = min(fails, killedFails)
	}
	k.restartAfter(g.done, fails)
}

// endedAtOnce reports that the first server ended, unless it said why: that may not have
// been read yet when its end is known.
func (k *keeper) endedAtOnce(g *generation, how string) {
	<-g.done
	k.mu.Lock()
	defer k.mu.Unlock()
	k.failStart("the server ended at once: " + how)
}

// restartAfter starts a server after the back-off and once the reader of the
// last one has ended: no request of the dead server may be carried out after
// the hand-over. mu is held.
func (k *keeper) restartAfter(done <-chan struct{}, fails int) {
	go func() {
		<-done
		time.Sleep(backoff(fails))
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.server != nil {
			return
		}
		if k.stop {
			k.end(0)
			return
		}
		err := k.startServer(fails)
		if err == nil {
			return
		}
		slog.Error("cannot start the server", "error", err)
		if k.next != nil {
			k.dropUpgrade(err.Error())
		}
		k.restartAfter(done, fails+1)
	}()
}

// backoff is the pause before a start after a number of consecutive failures:
// none for the first three.
func backoff(fails int) time.Duration {
	if fails <= 3 {
		return 0
	}
	d := restartFirst << min(fails-4, 20)
	return min(d, restartMax)
}

// failStart reports to the starter and ends the keeper. mu is held.
func (k *keeper) failStart(text string) {
	if f := k.ready; f != nil {
		k.ready = nil
		_, _ = f.WriteString("error: " + text)
		f.Close()
	}
	k.end(1)
}

// end ends the keeper. mu is held.
func (k *keeper) end(status int) {
	select {
	case k.quit <- status:
	default:
	}
}

// giveUp ends an upgraded server that did not become ready.
func (k *keeper) giveUp(g *generation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.server == g && !g.ready {
		_ = unix.Kill(g.pid, unix.SIGKILL) // serverEnded goes on
	}
}

// dropUpgrade returns to the old image. mu is held.
func (k *keeper) dropUpgrade(why string) {
	if k.next.fd >= 0 {
		unix.Close(k.next.fd)
	}
	k.next, k.lastFail = nil, why
	slog.Error("upgrade failed", "error", why)
}

// served notes that the server is ready. mu is not held.
func (k *keeper) served(g *generation) {
	k.mu.Lock()
	g.ready = true
	if g.trial != nil {
		g.trial.Stop()
	}
	if k.next != nil && k.server == g {
		if k.image.fd >= 0 {
			unix.Close(k.image.fd)
		}
		k.image, k.next, k.lastFail = *k.next, nil, ""
	}
	k.mu.Unlock()
	k.report("ready")
	time.AfterFunc(trim.AfterStart, trim.Memory)
}
