package server

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/statedir"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// A server whose state directory or socket was removed cannot be found: starters would
// think it dead and start another one. It notices the removal at once, makes both again,
// and hands over to its successor, which opens the new files.

// Pauses before the state directory is made again.
const (
	restorePause = 20 * time.Millisecond // for a removal of many files
	restoreFirst = 50 * time.Millisecond // after a failure, doubled each time
	restoreMost  = 30 * time.Second
)

// lockID is the keeper's entry for a lock file that was made again.
const lockID = "lock"

// watchState keeps the server findable until lifetime.done is closed.
func (srv *server) watchState() {
	socketDir, socket := filepath.Split(srv.settings.paths.Socket)
	names := []string{api.ServerLock, filepath.Base(srv.settings.paths.Db()), socket}
	for pause := restoreFirst; ; {
		w, err := sys.WatchRemovals(names, srv.settings.paths.Dir, filepath.Clean(socketDir))
		gone := srv.restoreState() // while watching: later removals end the wait
		if gone != nil {
			slog.Warn("cannot restore the state directory", "error", gone)
		}
		wait := restorePause
		if err == nil && gone == nil {
			pause = restoreFirst
			w.Wait(srv.lifetime.done)
		} else {
			wait = pause
			pause = min(2*pause, restoreMost)
		}
		w.Close()
		select {
		case <-time.After(wait):
		case <-srv.lifetime.done:
			return
		}
	}
}

// restoreState recreates the missing parts of the state directory and the
// socket. A server without sessions ends instead.
func (srv *server) restoreState() error {
	d, err := statedir.Open(srv.settings.paths.Dir)
	if err == nil {
		defer d.Close()
	}
	lost := srv.db.Lost()
	if err == nil && !lost && srv.keeper.lock.In(d) {
		srv.endpoint.Relisten()
		return nil
	}
	if srv.sessions.closeIfEmpty() {
		slog.Info("the state directory was removed, and no session runs")
		srv.end()
		return nil
	}
	if err := statedir.Make(srv.settings.paths.Dir); err != nil {
		return err
	}
	if err := srv.keeper.restoreLock(); err != nil {
		return err
	}
	if log, err := statedir.OpenLog(srv.settings.paths); err == nil {
		_ = sys.Dup2(int(log.Fd()), 2)
		log.Close()
	}
	slog.Warn("the state directory was removed and is recreated")
	if lost {
		if err := srv.db.Copy(srv.settings.paths.Db()); err != nil {
			return fmt.Errorf("%w: %w", api.ErrStateDir, err)
		}
	}
	srv.endpoint.Relisten()
	if lost {
		srv.leave() // its successor opens the copy
	}
	return nil
}

// restoreLock makes and locks the lock file if it is missing, and lets the keeper hold it.
func (k *keeperLink) restoreLock() error {
	return k.lock.Restore(k.srv.settings.paths.Dir, func(fd int) error {
		return k.current().Deposit(lockID, nil, fd)
	})
}

// adoptLock takes over a lock that an earlier server made again.
func (k *keeperLink) adoptLock(entries []keeper.Entry) error {
	for _, e := range entries {
		if e.ID == lockID && len(e.FDs) == 1 {
			err := k.lock.Take(e.FDs[0])
			unix.Close(e.FDs[0])
			return err
		}
	}
	return nil
}
