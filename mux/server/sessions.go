package server

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/trim"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/limits"
	"gascity.dev/gc/mux/internal/owned"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
	"golang.org/x/sys/unix"
)

// sessionTable holds the sessions from their creation until they are collected.
// server.mu guards it.
type sessionTable struct {
	srv      *server
	byID     map[string]*session
	byName   map[string]*session          // running ones; nil while one is being created
	exited   []*session                   // oldest first
	early    map[string]keeper.ExitNotice // exits that overtook their session
	owned    owned.Table
	creating map[string]bool // ids of sessions being created
	created  sync.Cond       // one of them exists or failed
	stopping bool            // no more sessions are created

	idleTimer  *time.Timer // runs while there is no session at all
	sweepTimer *time.Timer // runs while exited sessions are kept
}

// reserve takes the name and the id, so that of two creates one wins.
func (t *sessionTable) reserve(name, id string) error {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	if t.stopping {
		return api.ErrEnding
	}
	if s, taken := t.byName[name]; taken && (s == nil || s.life.running()) {
		return fmt.Errorf("%w: %s", api.ErrExists, name)
	}
	if t.byID[id] != nil || t.creating[id] {
		return fmt.Errorf("%w: id %s", api.ErrExists, id)
	}
	t.byName[name] = nil
	t.creating[id] = true
	t.checkIdle()
	return nil
}

// release ends the creation that reserve began.
func (t *sessionTable) release(name, id string, created bool) {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	delete(t.creating, id)
	t.created.Broadcast()
	if !created {
		delete(t.byName, name)
		t.checkIdle()
	}
}

// awaitCreated waits while a session of the name is being created.
func (t *sessionTable) awaitCreated(name string) {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	for s, taken := t.byName[name]; taken && s == nil; s, taken = t.byName[name] {
		t.created.Wait()
	}
}

// awaitID waits while a session of the id is being created: its program runs before the
// session is entered. false if none was.
func (t *sessionTable) awaitID(id string) (waited bool) {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	for ; t.creating[id]; waited = true {
		t.created.Wait()
	}
	return waited
}

// enter adds a session. mu is held.
func (t *sessionTable) enter(s *session, running bool) {
	t.byID[s.rec.ID] = s
	if running {
		t.byName[s.name()] = s
	}
	if owner := s.rec.Owner; running && owner != "" {
		t.owned.Begin(owner, api.Work{ID: s.rec.ID, Text: s.rec.Command, Since: unixTime(s.life.born)})
		t.srv.lifetime.work.Go(func() { t.workChanged(owner) })
	}
}

// named returns the running session of a name; nil if there is none.
func (t *sessionTable) named(name string) *session {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	return t.byName[name]
}

// withID returns the session of an id; nil if there is none.
func (t *sessionTable) withID(id string) *session {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	return t.byID[id]
}

// close lets no more sessions be created and returns the running ones. ErrBusy if there
// are any, unless force.
func (t *sessionTable) close(force bool) ([]*session, error) {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	if n := len(t.byName); n > 0 && !force {
		return nil, fmt.Errorf("%w: %d", api.ErrBusy, n)
	}
	t.stopping = true
	for len(t.creating) > 0 { // a session being started would outlive the server
		t.created.Wait()
	}
	var all []*session
	for _, s := range t.byName {
		if s != nil {
			all = append(all, s)
		}
	}
	return all, nil
}

// reopen undoes close.
func (t *sessionTable) reopen() {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	t.stopping = false
}

// closeIfEmpty lets no more sessions be created if there is none, and reports whether it
// did.
func (t *sessionTable) closeIfEmpty() bool {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	empty := len(t.byName) == 0 && len(t.byID) == 0
	t.stopping = t.stopping || empty
	return empty
}

// find returns the session of a name, the running one or the newest that exited, or the
// session of an id.
func (t *sessionTable) find(name string) (*session, error) {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	if s := t.byName[name]; s != nil {
		return s, nil
	}
	if s := t.byID[name]; s != nil {
		return s, nil
	}
	var newest *session
	for _, s := range t.byID {
		if s.name() == name && (newest == nil || s.rec.Created > newest.rec.Created) {
			newest = s
		}
	}
	if newest != nil {
		return newest, nil
	}
	return nil, fmt.Errorf("%w: %s", api.ErrNotFound, name)
}

// list returns the sessions, sorted by name and then age.
func (t *sessionTable) list(prefix string, all bool) []api.SessionInfo {
	t.srv.mu.Lock()
	var found []*session
	for _, s := range t.byID {
		if strings.HasPrefix(s.name(), prefix) {
			found = append(found, s)
		}
	}
	t.srv.mu.Unlock()
	slices.SortFunc(found, func(a, b *session) int {
		if c := strings.Compare(a.name(), b.name()); c != 0 {
			return c
		}
		return int(min(1, max(-1, a.rec.Created-b.rec.Created)))
	})
	out := make([]api.SessionInfo, 0, len(found))
	for _, s := range found {
		if i := s.info(); all || i.State == api.StateRunning {
			out = append(out, i)
		}
	}
	return out
}

// overdue removes the exited sessions that are no longer kept from the list. mu is held.
func (t *sessionTable) overdue(now time.Time) []*session {
	left := map[bool]int{} // background commands and others
	for _, s := range t.exited {
		left[s.rec.Exec]++
	}
	var drop []*session
	t.exited = slices.DeleteFunc(t.exited, func(s *session) bool {
		most := t.srv.settings.times.keepMost
		if s.rec.Exec {
			most = min(most, keepCommands)
		}
		if left[s.rec.Exec] <= most && now.Sub(s.life.keptSince) < t.srv.settings.times.keep {
			return false
		}
		left[s.rec.Exec]--
		s.life.collecting = true
		drop = append(drop, s)
		return true
	})
	return drop
}

// armSweep sets the timer that collects exited sessions. mu is held.
func (t *sessionTable) armSweep() {
	srv := t.srv
	if t.sweepTimer != nil {
		t.sweepTimer.Stop()
		t.sweepTimer = nil
	}
	if len(t.exited) == 0 {
		return
	}
	t.sweepTimer = time.AfterFunc(srv.settings.times.keep-srv.clock.Since(t.exited[0].life.keptSince)+time.Millisecond, func() {
		srv.mu.Lock()
		drop := t.overdue(srv.clock.Now())
		t.armSweep()
		srv.mu.Unlock()
		t.collect(drop)
	})
}

// collect removes sessions for good.
func (t *sessionTable) collect(drop []*session) {
	srv := t.srv
	if len(drop) == 0 {
		return
	}
	var ids []string
	for _, s := range drop {
		ids = append(ids, s.rec.ID)
		s.collect()
	}
	if err := srv.keeper.current().Forget(ids...); err != nil {
		slog.Warn("the keeper cannot forget sessions", "error", err)
	}
	if err := srv.meta.Drop(ids...); err != nil {
		slog.Warn("cannot remove metadata", "error", err)
	}
	for _, s := range drop {
		if s.rec.Cgroup == "" {
			continue
		}
		srv.lifetime.work.Go(func() {
			if err := limits.Remove(s.rec.Cgroup); err != nil {
				slog.Warn("cannot remove a cgroup", "cgroup", s.rec.Cgroup, "error", err)
			}
		})
	}
	srv.mu.Lock()
	for _, s := range drop {
		delete(t.byID, s.rec.ID)
		srv.journals.table.Release(s.rec.Slot)
	}
	t.checkIdle()
	srv.mu.Unlock()
	for _, s := range drop {
		srv.events.emit(s, api.Event{Type: api.EventRemoved})
	}
}

// remove collects sessions at once. It skips those that someone else is collecting.
func (t *sessionTable) remove(all ...*session) {
	var mine []*session
	t.srv.mu.Lock()
	for _, s := range all {
		if t.byID[s.rec.ID] != s || s.life.collecting {
			continue
		}
		s.life.collecting = true
		mine = append(mine, s)
		if t.byName[s.name()] == s {
			delete(t.byName, s.name())
		}
		if i := slices.Index(t.exited, s); i >= 0 {
			t.exited = slices.Delete(t.exited, i, i+1)
		}
	}
	t.srv.mu.Unlock()
	t.collect(mine)
}

// checkIdle starts or stops the timer that ends a server without sessions. mu is held.
func (t *sessionTable) checkIdle() {
	srv := t.srv
	if len(t.byName) > 0 || len(t.byID) > 0 {
		if t.idleTimer != nil {
			t.idleTimer.Stop()
			t.idleTimer = nil
		}
		return
	}
	if t.idleTimer == nil {
		if srv.lifetime.started() {
			time.AfterFunc(trim.AfterStart, trim.Memory)
		}
		t.idleTimer = time.AfterFunc(srv.settings.times.idle, t.endIdle)
	}
}

// endIdle ends the server, unless it has sessions or messages for cities elsewhere: these
// can be taken only while it runs.
func (t *sessionTable) endIdle() {
	if t.srv.outbox.Empty() {
		if t.closeIfEmpty() {
			t.srv.end()
		}
		return
	}
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	if t.idleTimer != nil {
		t.idleTimer.Reset(t.srv.settings.times.idle)
	}
}

// moveExited frees the name and lets the reaper end what is left of the tree.
func (t *sessionTable) moveExited(s *session) {
	srv := t.srv
	if s.rec.Exec {
		srv.commands.Ended(s.rec.ID, s.life.exited())
	}
	srv.mu.Lock()
	if t.byName[s.name()] == s {
		delete(t.byName, s.name())
	}
	if t.byID[s.rec.ID] == s && !s.life.collecting && !slices.Contains(t.exited, s) {
		s.life.keptSince = srv.clock.Now()
		t.exited = append(t.exited, s)
	}
	drop := t.overdue(srv.clock.Now())
	t.armSweep()
	t.checkIdle()
	link := srv.keeper.link
	srv.mu.Unlock()
	t.collect(drop)
	srv.queue.SessionsChanged()
	srv.commands.OwnersChanged()
	srv.reaper.add(s)
	if err := srv.keeper.give(link, s); err != nil && !errors.Is(err, keeper.ErrLost) { // so that it closes the terminal
		slog.Warn("cannot give an ended session to the keeper", "session", s.rec.ID, "error", err)
	}
}

// ended is called when a session ends, with its mu held: work that needs the server's mu
// is done elsewhere.
func (t *sessionTable) ended(s *session) {
	if s.storage.journal.Flags.Or(journal.FlagEnded)&journal.FlagEnded == 0 { // else an earlier server published it
		t.srv.events.emit(s, api.Event{Type: api.EventExited, Exit: s.life.exitCopy()})
	}
	t.srv.lifetime.work.Go(func() {
		if s.rec.Owner != "" {
			t.srv.mu.Lock() // after enter, which may be called with s.mu held
			t.owned.End(s.rec.Owner, s.rec.ID)
			t.srv.mu.Unlock()
			t.workChanged(s.rec.Owner)
		}
		t.moveExited(s)
	})
}

// workChanged wakes those who wait for the owner of a background command.
func (t *sessionTable) workChanged(owner string) {
	if s := t.named(owner); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.broadcast()
	}
}

// lateExit delivers an exit notice that came before the session was entered.
func (t *sessionTable) lateExit(s *session) {
	t.srv.mu.Lock()
	n, ok := t.early[s.rec.ID]
	delete(t.early, s.rec.ID)
	t.srv.mu.Unlock()
	if ok {
		s.life.leaderEnded(exitOf(unix.WaitStatus(n.Status), n.At))
	}
}

// exitNoticed is called by the keeper's link for every exit.
func (t *sessionTable) exitNoticed(n keeper.ExitNotice) {
	t.srv.mu.Lock()
	s := t.byID[n.ID]
	if s == nil {
		// the notice overtook the session; lateExit delivers it
		if t.early == nil {
			t.early = make(map[string]keeper.ExitNotice)
		}
		t.early[n.ID] = n
	}
	t.srv.mu.Unlock()
	if s != nil {
		s.life.leaderEnded(exitOf(unix.WaitStatus(n.Status), n.At))
	}
}

// forgetSizes restores the configured size of sessions whose clients did not return to
// this server.
func (t *sessionTable) forgetSizes() {
	t.srv.mu.Lock()
	all := slices.Collect(maps.Values(t.byID))
	t.srv.mu.Unlock()
	for _, s := range all {
		s.mu.Lock()
		s.clients.Forget()
		s.mu.Unlock()
	}
}

func (t *sessionTable) rename(s *session, to string) error {
	srv := t.srv
	if err := api.CheckName(to); err != nil {
		return err
	}
	if err := t.takeName(s, to); err != nil {
		return err
	}
	s.mu.Lock()
	s.rec.Name = s.name() // a later rename may have come first
	err := srv.keeper.current().Deposit(s.rec.ID, s.rec.encode())
	s.mu.Unlock()
	if err != nil {
		slog.Warn("the keeper did not take a new name", "session", s.rec.ID, "error", err)
	}
	srv.events.emit(s, api.Event{Type: api.EventRenamed})
	srv.queue.Renamed(s.rec.ID, s.name())
	return nil
}

// takeName makes the session the running one of the name.
func (t *sessionTable) takeName(s *session, to string) error {
	t.srv.mu.Lock()
	defer t.srv.mu.Unlock()
	from := s.name()
	switch taken, ok := t.byName[to]; {
	case s.rec.Exec:
		return fmt.Errorf("%w: %s is a background command", api.ErrRequest, from)
	case t.byName[from] != s || !s.life.running():
		return fmt.Errorf("rename %s: %w", from, api.ErrExited)
	case taken == s:
		return nil
	case ok && (taken == nil || taken.life.running()):
		return fmt.Errorf("%w: %s", api.ErrExists, to)
	}
	for _, other := range t.byID {
		if other.rec.Exec && other.rec.Owner == from && other.life.running() {
			return fmt.Errorf("%w: background commands of %s are running and report their end to that name", api.ErrRequest, from)
		}
	}
	delete(t.byName, from)
	t.byName[to] = s
	s.called.Store(&to)
	return nil
}
