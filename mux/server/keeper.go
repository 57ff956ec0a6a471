package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// keeperLink is the connection to the keeper, which may die and be replaced.
type keeperLink struct {
	srv  *server
	lock statedir.Lock

	// guarded by server.mu
	link     *keeper.Link
	replaced chan struct{} // closed when link is another one
	handing  bool          // a new keeper does not hold everything yet
}

func (k *keeperLink) current() *keeper.Link {
	k.srv.mu.Lock()
	defer k.srv.mu.Unlock()
	return k.link
}

// spawn makes the keeper start a program; the next keeper if this one has just died.
func (k *keeperLink) spawn(spec *keeper.Spec, fd int) (*keeper.Link, keeper.Spawned, error) {
	srv := k.srv
	late := time.NewTimer(alive.Limit)
	defer late.Stop()
	for {
		srv.mu.Lock()
		link, next := k.link, k.replaced
		srv.mu.Unlock()
		p, err := link.Spawn(spec, fd)
		if !errors.Is(err, keeper.ErrNotSent) {
			return link, p, err
		}
		select {
		case <-next:
		case <-late.C:
			return link, p, err
		case <-srv.lifetime.done:
			return link, p, err
		}
	}
}

// The keeper is small so that it does not crash. If it is killed, the server still has
// every terminal and journal. It starts a new keeper, which watches this server and holds
// everything again. The programs are not children of the new keeper: their exits are
// noticed through process descriptors, which it holds too.

// Pauses between tries to start a new keeper.
const (
	keeperFirst = 20 * time.Millisecond
	keeperMax   = 5 * time.Second
)

// lost is called when the keeper has died.
func (k *keeperLink) lost() {
	srv := k.srv
	select {
	case <-srv.lifetime.done:
		return
	default:
	}
	slog.Warn("the keeper is gone")
	srv.lifetime.work.Go(func() {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-srv.lifetime.done:
				cancel()
			case <-ctx.Done():
			}
		}()
		for pause := keeperFirst; ; pause = min(2*pause, keeperMax) {
			err := k.restart()
			if err == nil || ctx.Err() != nil {
				return
			}
			slog.Warn("cannot start a new keeper", "error", err)
			if clock.Sleep(ctx, pause) != nil {
				return
			}
		}
	})
}

// restart starts a keeper and gives it everything to hold.
func (k *keeperLink) restart() error {
	srv := k.srv
	dup, err := unix.FcntlInt(uintptr(k.lock), unix.F_DUPFD_CLOEXEC, sys.HighFD)
	if err != nil {
		return err
	}
	lock := os.NewFile(uintptr(dup), "lock")
	defer lock.Close()
	mine, theirs, err := sys.SocketPair()
	if err != nil {
		return err
	}
	end := os.NewFile(uintptr(theirs), "keeper")
	err = keeper.Launch(srv.settings.paths, lock, end, "detach-adopt", srv.settings.paths.Dir, srv.settings.paths.Socket, srv.settings.version,
		strconv.Itoa(os.Getpid()), keeper.FormatRlimits(k.current().Info.Starters))
	end.Close()
	if err != nil {
		unix.Close(mine)
		return err
	}
	holds := make(chan bool, 1)
	link, err := keeper.NewLink(mine, srv.sessions.exitNoticed, func() {
		if <-holds { // if not, the caller tries again
			k.lost()
		}
	})
	if err != nil {
		return err
	}
	err = k.handOver(link)
	holds <- err == nil
	if err != nil {
		_ = link.Tell(keeper.KindStop, "") // a second keeper would start a second server
		link.Conn.Close()
		return fmt.Errorf("hand over to a new keeper: %w", err)
	}
	return nil
}

// handOver makes link the server's and deposits everything. Until it is done, the
// server's status shows no keeper: a crash now loses sessions.
func (k *keeperLink) handOver(link *keeper.Link) error {
	srv := k.srv
	if err := link.Hello(); err != nil {
		return err
	}
	srv.mu.Lock()
	k.link, k.handing = link, true
	close(k.replaced)
	k.replaced = make(chan struct{})
	all := make([]*session, 0, len(srv.sessions.byID))
	for _, s := range srv.sessions.byID {
		all = append(all, s)
	}
	srv.mu.Unlock()
	errs := []error{link.Deposit(tableID, nil, srv.journals.tableFD), srv.endpoint.Give(link)}
	for _, s := range all {
		errs = append(errs, k.give(link, s))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	srv.mu.Lock()
	k.handing = false
	srv.mu.Unlock()
	return nil
}

// give makes the keeper hold a session that is not its child, and watches the session's
// leader.
func (k *keeperLink) give(link *keeper.Link, s *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.collected {
		return nil
	}
	if s.life.watchLeader() {
		k.srv.lifetime.work.Go(func() { k.watch(s) })
	}
	e, fds := s.entry()
	return link.Adopt(&e, fds...)
}

// entry returns what a keeper must hold of a session that is not its child. mu is held.
func (s *session) entry() (keeper.Entry, []int) {
	e := keeper.Entry{ID: s.rec.ID, PID: s.life.pid, Start: s.life.start, Data: s.rec.encode()}
	fds := s.tty.descriptors()
	if len(fds) == 0 { // ended: any descriptor serves in place of the terminal
		fds = append(fds, s.storage.journal.Fd)
	}
	e.Own = len(fds)
	fds = append(fds, s.storage.journal.Fd)
	if exit := s.life.dead; exit != nil {
		e.Exited, e.Status, e.Ended = true, waitStatusOf(exit), exit.Time.UnixNano()
	}
	if s.life.watch >= 0 {
		fds = append(fds, s.life.watch)
	}
	return e, fds
}

// watch waits for the end of a leader that is not our keeper's child.
func (k *keeperLink) watch(s *session) {
	status, known, ok := sys.AwaitProcess(s.life.watch, s.life.pid, s.life.start, k.srv.lifetime.done)
	if !ok {
		return // the server ends
	}
	exit := &api.Exit{Code: -1, Reason: api.ReasonUnknown, Time: time.Now()}
	if known {
		exit = exitOf(status, time.Now())
	}
	s.life.leaderEnded(exit)
	_ = k.give(k.current(), s) // for the next server
}

// waitStatusOf is the inverse of exitOf. An unknown status becomes one that no process
// can have.
func waitStatusOf(e *api.Exit) uint32 {
	switch {
	case e.Reason == api.ReasonUnknown:
		return unknownStatus
	case e.Signal != "":
		return uint32(unix.SignalNum(e.Signal))
	}
	return uint32(e.Code&0xff) << 8
}

// unknownStatus reads as neither exited nor signalled.
const unknownStatus = 0xffff
