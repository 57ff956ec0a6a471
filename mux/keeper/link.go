package keeper

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/alive"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
)

// ErrLost is the error of every request once the keeper has died; ErrNotSent,
// which wraps it, means that the keeper did not get the request.
var (
	ErrLost    = errors.New("the keeper is gone")
	ErrNotSent = error(notSent{})
)

type notSent struct{}

func (notSent) Error() string { return ErrLost.Error() }
func (notSent) Unwrap() error { return ErrLost }

// Link is the server's end of the keeper protocol. Requests may be made from
// any goroutine; they block until the keeper replies.
type Link struct {
	Conn *conn
	Info Info

	mu      sync.Mutex
	seq     uint64
	waiting map[uint64]chan linkReply
	late    map[uint64]string // spawns that were given up: the sessions' ids
	lost    bool
	done    chan struct{} // closed when the reader has ended
}

type linkReply struct {
	kind    uint16
	body    []byte
	fds     []int
	entries []Entry // of a list
}

// Info is what the keeper reports about itself.
type Info struct {
	PID      int
	Since    time.Time
	Restarts int
	LastFail string // of an upgrade
	Starters []sys.Rlimit
}

// ExitNotice says that a session's process ended.
type ExitNotice struct {
	ID     string
	Status uint32
	At     time.Time
}

// NewLink takes over the socket. The reader calls onExit for every notice,
// which must not block, and onLost when the keeper is gone.
func NewLink(fd int, onExit func(ExitNotice), onLost func()) (*Link, error) {
	conn, err := newConn(fd)
	if err != nil {
		return nil, err
	}
	l := &Link{Conn: conn, waiting: make(map[uint64]chan linkReply), done: make(chan struct{})}
	go l.read(onExit, onLost)
	return l, nil
}

// read dispatches the keeper's messages.
func (l *Link) read(onExit func(ExitNotice), onLost func()) {
	defer close(l.done)
	lists := make(map[uint64]*linkReply)
	for {
		f, err := l.Conn.recv()
		if err != nil {
			break
		}
		switch f.kind {
		case kindExit:
			sys.CloseAll(f.fds)
			onExit(decodeExit(f.body))
		case kindEntries:
			if l.collect(lists, f) != nil {
				l.Conn.Close()
			}
		default:
			r := linkReply{kind: f.kind, body: slices.Clone(f.body), fds: slices.Clone(f.fds)}
			seq := seqOf(f.body)
			if list := lists[seq]; list != nil && f.kind == kindListed {
				r.entries = list.entries
				delete(lists, seq)
			}
			l.answer(seq, r)
		}
	}
	l.Conn.dropFDs()
	l.mu.Lock()
	l.lost = true
	for seq, ch := range l.waiting {
		close(ch)
		delete(l.waiting, seq)
	}
	l.mu.Unlock()
	onLost()
}

func decodeExit(body []byte) (n ExitNotice) {
	_ = eachField(body, func(tag uint16, v []byte) error {
		switch tag {
		case tagID:
			n.ID = string(v)
		case tagStatus:
			n.Status = uint32(num(v))
		case tagTime:
			n.At = time.Unix(0, int64(num(v)))
		}
		return nil
	})
	return n
}

// collect adds a message's entries to the list they belong to.
func (l *Link) collect(lists map[uint64]*linkReply, f frame) error {
	seq := seqOf(f.body)
	list := lists[seq]
	if list == nil {
		list = &linkReply{}
		lists[seq] = list
	}
	fds := slices.Clone(f.fds)
	err := eachField(f.body, func(tag uint16, v []byte) error {
		if tag != tagEntry {
			return nil
		}
		e, n, err := decodeEntry(v)
		if err != nil {
			return err
		}
		if n > len(fds) {
			return fmt.Errorf("%w: entry %q lacks descriptors", ErrProtocol, e.ID)
		}
		e.FDs, fds = fds[:n:n], fds[n:]
		list.entries = append(list.entries, e)
		return nil
	})
	sys.CloseAll(fds)
	return err
}

func (l *Link) answer(seq uint64, r linkReply) {
	l.mu.Lock()
	ch := l.waiting[seq]
	delete(l.waiting, seq)
	id, late := l.late[seq]
	delete(l.late, seq)
	l.mu.Unlock()
	if ch != nil {
		ch <- r
		return
	}
	sys.CloseAll(r.fds)
	if late && r.kind == kindSpawned {
		l.undo(id, r)
	}
}

// undo ends a program that was started after its request was given up.
func (l *Link) undo(id string, r linkReply) {
	_ = eachField(r.body, func(tag uint16, v []byte) error {
		if tag == tagPID {
			_ = unix.Kill(-int(num(v)), unix.SIGKILL)
		}
		return nil
	})
	_ = l.Conn.send(kindForget, fields(nil).num(tagSeq, 0).str(tagID, id)) // the reply is dropped
}

// request sends one request and waits for its reply; ErrKeeperFrozen if it does
// not come in time.
func (l *Link) request(kind uint16, f fields, fds ...int) (linkReply, error) {
	ch := make(chan linkReply, 1)
	l.mu.Lock()
	if l.lost {
		l.mu.Unlock()
		return linkReply{}, ErrNotSent
	}
	l.seq++
	seq := l.seq
	l.waiting[seq] = ch
	l.mu.Unlock()
	if err := l.Conn.send(kind, fields(nil).num(tagSeq, seq).raw(f), fds...); err != nil {
		l.mu.Lock()
		delete(l.waiting, seq)
		l.mu.Unlock()
		if errors.Is(err, api.ErrTooLarge) {
			return linkReply{}, err
		}
		return linkReply{}, fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	late := time.NewTimer(alive.Limit)
	defer late.Stop()
	select {
	case r, ok := <-ch:
		if !ok {
			return linkReply{}, ErrLost
		}
		return r, nil
	case <-late.C:
	}
	l.mu.Lock()
	_, waits := l.waiting[seq]
	delete(l.waiting, seq)
	if waits && kind == kindSpawn {
		if l.late == nil {
			l.late = make(map[uint64]string)
		}
		l.late[seq] = idOf(f)
	}
	l.mu.Unlock()
	if !waits { // it has just arrived, or the keeper died
		if r, ok := <-ch; ok {
			return r, nil
		}
		return linkReply{}, ErrLost
	}
	return linkReply{}, api.ErrKeeperFrozen
}

// idOf returns the session id in a request.
func idOf(f fields) (id string) {
	_ = eachField(f, func(tag uint16, v []byte) error {
		if tag == tagID {
			id = string(v)
		}
		return nil
	})
	return id
}

// Hello introduces the server and learns about the keeper.
func (l *Link) Hello() error {
	r, err := l.request(kindHello, fields(nil).num(tagVersion, keeperProtocol))
	if err != nil {
		return err
	}
	if r.kind != kindWelcome {
		return fmt.Errorf("%w: kind %d instead of a welcome", ErrProtocol, r.kind)
	}
	return eachField(r.body, func(tag uint16, v []byte) error {
		switch tag {
		case tagPID:
			l.Info.PID = int(num(v))
		case tagSince:
			l.Info.Since = time.Unix(0, int64(num(v)))
		case tagRestarts:
			l.Info.Restarts = int(num(v))
		case tagText:
			l.Info.LastFail = string(v)
		case tagRlimit:
			if len(v) == packedRlimit {
				l.Info.Starters = append(l.Info.Starters, unpackRlimit(v))
			}
		}
		return nil
	})
}

// List returns the keeper's table; the descriptors belong to the caller.
func (l *Link) List() ([]Entry, error) {
	r, err := l.request(kindList, nil)
	return r.entries, err
}

// Spawned is a started program.
type Spawned struct {
	PID   int
	Start uint64
	FDs   []int
}

// Spawn starts a program; the keeper holds fds with it. ErrSpawn if it cannot;
// ErrTerminals or ErrOpenFiles if the system has run out of these.
func (l *Link) Spawn(s *Spec, fds ...int) (Spawned, error) {
	r, err := l.request(kindSpawn, s.encode(), fds...)
	if err != nil {
		return Spawned{}, fmt.Errorf("%w: %w", api.ErrSpawn, err)
	}
	var out Spawned
	var text string
	var errno unix.Errno
	_ = eachField(r.body, func(tag uint16, v []byte) error {
		switch tag {
		case tagPID:
			out.PID = int(num(v))
		case tagStart:
			out.Start = num(v)
		case tagText:
			text = string(v)
		case tagErrno:
			errno = unix.Errno(num(v))
		}
		return nil
	})
	if r.kind == kindSpawned && len(r.fds) == 0 {
		// It runs, but its terminal did not arrive: undo the start.
		_ = unix.Kill(-out.PID, unix.SIGKILL)
		_ = l.Forget(s.ID)
		return Spawned{}, fmt.Errorf("%w: %w", api.ErrSpawn, unix.EMFILE)
	}
	if r.kind != kindSpawned {
		sys.CloseAll(r.fds)
		return Spawned{}, spawnError(s, errno, text)
	}
	out.FDs = r.fds
	return out, nil
}

// spawnError returns why the keeper did not start a program. Linux reports
// ENOSPC if it has no more terminals (ptmx(4)).
func spawnError(s *Spec, errno unix.Errno, text string) error {
	if s.Stdio == StdioPTY && errno == unix.ENOSPC {
		return api.ErrTerminals
	}
	if errno == unix.EMFILE {
		return api.ErrOpenFiles
	}
	return fmt.Errorf("%w: %s", api.ErrSpawn, text)
}

// Deposit gives the keeper data and descriptors to hold under an id.
func (l *Link) Deposit(id string, data []byte, fds ...int) error {
	r, err := l.request(kindDeposit, fields(nil).str(tagID, id).bytes(tagData, data), fds...)
	return kept(r, err)
}

// Adopt gives a new keeper a session that is not its child.
func (l *Link) Adopt(e *Entry, fds ...int) error {
	r, err := l.request(kindAdopt, e.encode(), fds...)
	return kept(r, err)
}

// kept returns the error of a request that hands descriptors over.
func kept(r linkReply, err error) error {
	if err == nil && r.kind == kindFailed {
		return fmt.Errorf("the keeper refused: %s", textOf(r.body))
	}
	return err
}

// Forget drops entries.
func (l *Link) Forget(ids ...string) error {
	var f fields
	for _, id := range ids {
		f = f.str(tagID, id)
	}
	_, err := l.request(kindForget, f)
	return err
}

// Upgrade gives the keeper the image of the next server.
func (l *Link) Upgrade(path, version string, fd int) error {
	r, err := l.request(kindUpgrade, fields(nil).str(tagText, path).str(tagData, version), fd)
	return kept(r, err)
}

// Trim makes the keeper close all but the first own descriptors of a process.
func (l *Link) Trim(id string, own int) error {
	return l.Conn.send(kindTrim, fields(nil).str(tagID, id).num(tagOwnFDs, uint64(own)))
}

// Tell sends a message that has no reply.
func (l *Link) Tell(kind uint16, text string) error {
	return l.Conn.send(kind, fields(nil).str(tagText, text))
}

// raw appends fields that are already encoded.
func (f fields) raw(more fields) fields { return append(f, more...) }
