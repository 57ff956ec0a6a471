package mux

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// tableID is the keeper's entry of the table of journals.
const tableID = "table"

// openTable maps the table that the keeper holds, or makes one.
func (srv *server) openTable(entries []keptEntry) error {
	for _, e := range entries {
		if e.ID == tableID && len(e.FDs) == 1 {
			srv.tableFD = e.FDs[0]
			t, err := mapTable(e.FDs[0])
			srv.table = t
			return err
		}
	}
	fd, err := newMemory(srv.paths.Dir, slotSize*tableSize)
	if err != nil {
		return err
	}
	srv.tableFD = fd
	if srv.table, err = mapTable(fd); err != nil {
		return err
	}
	return srv.link.deposit(tableID, nil, fd)
}

// adopt makes sessions of what the keeper holds.
func (srv *server) adopt(entries []keptEntry) {
	for _, e := range entries {
		if e.Kind != entrySession {
			continue
		}
		if err := srv.adoptSession(e); err != nil {
			logf("entry %s: %v", e.ID, err)
		}
	}
	slices.SortFunc(srv.exited, func(a, b *session) int { return a.endTime().Compare(b.endTime()) })
}

// adoptSession makes one session: its screen from the journal, its exit from
// the keeper.
func (srv *server) adoptSession(e keptEntry) error {
	var rec sessionRecord
	if err := json.Unmarshal(e.Data, &rec); err != nil || e.Own < 1 || len(e.FDs) < e.Own+1 {
		closeAll(e.FDs)
		return fmt.Errorf("%w: an entry with %d descriptors (%v)", errProtocol, len(e.FDs), err)
	}
	closeAll(e.FDs[1:e.Own])
	watch := -1
	if len(e.FDs) > e.Own+1 { // a descriptor of the process: an earlier keeper was its parent
		watch = e.FDs[e.Own+1]
		closeAll(e.FDs[e.Own+2:])
	}
	if !srv.table.take(rec.Slot) {
		closeAll([]int{e.FDs[0], e.FDs[e.Own]})
		return errors.New("its journal's slot belongs to another session")
	}
	j, err := openJournal(e.FDs[e.Own], srv.table.at(rec.Slot))
	if err != nil {
		unix.Close(e.FDs[0])
		return err
	}
	s, err := newSession(srv, rec, e.PID, e.Start, e.FDs[0], j)
	if err != nil {
		unix.Close(e.FDs[0])
		return err
	}
	s.watch = watch
	s.recoverScreen()
	s.fixSize()
	if !e.Exited {
		if finish := s.claimNudge(); finish != nil {
			srv.resumed = append(srv.resumed, finish)
		}
	}
	srv.mu.Lock()
	srv.sessions[rec.ID] = s
	if !e.Exited {
		srv.live[rec.Name] = s
	}
	srv.mu.Unlock()
	if err := srv.loop.add(s); err != nil {
		s.eof = true // an ended session's stand-in is no terminal
	}
	switch {
	case e.Exited:
		s.leaderEnded(exitOf(unix.WaitStatus(e.Status), time.Unix(0, e.Ended)))
	case watch >= 0 || e.Foreign:
		srv.work.Go(func() { srv.watchForeign(s) })
	default:
		srv.lateExit(s)
	}
	return nil
}

// fixSize gives the terminal the screen's size, where the last server died
// between the two, and then the size that is configured: the clients are gone.
func (s *session) fixSize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	ws, err := unix.IoctlGetWinsize(s.fd, unix.TIOCGWINSZ)
	if err == nil && (int(ws.Col) != s.cols || int(ws.Row) != s.rows) {
		want := unix.Winsize{Col: uint16(s.cols), Row: uint16(s.rows)}
		_ = unix.IoctlSetWinsize(s.fd, unix.TIOCSWINSZ, &want)
	}
}
