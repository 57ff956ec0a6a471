package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// adoption is what the last server left to this one. One goroutine at a time uses it.
type adoption struct {
	srv     *server
	list    []adopted               // until restore has made their screens
	resumed []func(context.Context) // finish the operations under way
}

// adopted is a session whose screen is still to be made.
type adopted struct {
	s *session
	e keeper.Entry
}

// add makes sessions of what the keeper holds. They exist at once, each locked until
// restore has made its screen, so that a request for one waits for that one only.
func (ad *adoption) add(entries []keeper.Entry) {
	for _, running := range [...]bool{true, false} {
		for _, e := range entries {
			if e.Kind != keeper.EntrySession || e.Exited == running {
				continue
			}
			s, err := ad.adoptSession(e)
			if err != nil {
				slog.Error("cannot adopt a session", "session", e.ID, "error", err)
				continue
			}
			ad.list = append(ad.list, adopted{s, e})
		}
	}
}

// recoveryGC is the collector's target until the screens are made: memory
// allocated until then stays in use.
const recoveryGC = 400

// restore makes the screens of adopted sessions, on every processor.
func (ad *adoption) restore() {
	srv := ad.srv
	var next atomic.Int64
	var all sync.WaitGroup
	for range goruntime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(ad.list)); i = next.Add(1) - 1 {
				ad.restoreSession(ad.list[i])
			}
		})
	}
	all.Wait()
	ad.list = nil
	srv.mu.Lock()
	slices.SortFunc(srv.sessions.exited, func(a, b *session) int { return a.life.exitTime().Compare(b.life.exitTime()) })
	srv.mu.Unlock()
}

// restoreSession makes one screen from the journal, then lets the session continue or
// end.
func (ad *adoption) restoreSession(a adopted) {
	srv := ad.srv
	s, e := a.s, a.e
	func() {
		defer s.mu.Unlock() // locked by adoptSession
		s.screen.recover()
		s.tty.fixSize()
	}()
	if err := srv.loop.Add(&s.tty); err != nil {
		s.mu.Lock()
		s.tty.eof = true // the descriptor of an ended session is not a terminal
		s.mu.Unlock()
	}
	switch {
	case e.Exited:
		s.life.leaderEnded(exitOf(unix.WaitStatus(e.Status), time.Unix(0, e.Ended)))
	case s.life.watch >= 0 || e.Foreign:
		srv.lifetime.work.Go(func() { srv.keeper.watch(s) })
	default:
		srv.sessions.lateExit(s)
	}
}

// adoptSession makes one session without its screen, and locks it.
func (ad *adoption) adoptSession(e keeper.Entry) (*session, error) {
	srv := ad.srv
	var rec sessionRecord
	if err := json.Unmarshal(e.Data, &rec); err != nil || e.Own < 1 || len(e.FDs) < e.Own+1 {
		sys.CloseAll(e.FDs)
		return nil, fmt.Errorf("%w: an entry with %d descriptors (%v)", keeper.ErrProtocol, len(e.FDs), err)
	}
	in := newStdin(rec, e.FDs[1:e.Own])
	watch := -1
	if len(e.FDs) > e.Own+1 { // a process descriptor: an earlier keeper was its parent
		watch = e.FDs[e.Own+1]
		sys.CloseAll(e.FDs[e.Own+2:])
	}
	if !srv.journals.table.Take(rec.Slot) {
		sys.CloseAll([]int{e.FDs[0], e.FDs[e.Own]})
		return nil, errors.New("its journal's header belongs to another session")
	}
	j, err := journal.Open(e.FDs[e.Own], srv.journals.table.At(rec.Slot))
	if err != nil {
		unix.Close(e.FDs[0])
		return nil, err
	}
	s, err := newSession(srv, rec, e.PID, e.Start, e.FDs[0], j)
	if err != nil {
		unix.Close(e.FDs[0])
		return nil, err
	}
	s.life.watch, s.tty.stdin = watch, in
	s.output.open()
	if !e.Exited {
		if finish := s.nudges.Claim(); finish != nil {
			ad.resumed = append(ad.resumed, finish)
		}
	}
	s.mu.Lock() // until restoreSession unlocks it
	srv.mu.Lock()
	srv.sessions.enter(s, !e.Exited)
	srv.mu.Unlock()
	return s, nil
}
