package keeper

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"syscall"

	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// listen handles one server's requests until its socket ends.
func (k *keeper) listen(g *generation) {
	defer close(g.done)
	for {
		f, err := g.conn.recv()
		if err != nil {
			g.conn.dropFDs()
			if errors.Is(err, ErrProtocol) {
				slog.Error("protocol error", "server", g.pid, "error", err)
				_ = unix.Kill(g.pid, unix.SIGKILL)
			}
			return
		}
		k.trimmer.Note()
		if err := k.handle(g, f); err != nil {
			slog.Error("request failed", "server", g.pid, "error", err)
			_ = unix.Kill(g.pid, unix.SIGKILL) // the next one starts fresh
			return
		}
	}
}

// sendExits sends notices. It never holds mu while it writes: a server that
// does not read must not block anything else.
func (k *keeper) sendExits(g *generation) {
	for {
		select {
		case <-g.done:
			return
		case <-g.wake:
		}
		k.mu.Lock()
		var bodies []fields
		for _, e := range g.exits {
			bodies = append(bodies, fields(nil).str(tagID, e.ID).num(tagPID, uint64(e.PID)).
				num(tagStatus, uint64(e.Status)).num(tagTime, uint64(e.Ended)))
		}
		g.exits = nil
		k.mu.Unlock()
		for _, b := range bodies {
			if g.conn.send(kindExit, b) != nil {
				return
			}
		}
	}
}

// handle carries out one request. The descriptors of f are used or closed. An
// error ends the conversation.
func (k *keeper) handle(g *generation, f frame) error {
	if f.lost {
		b := fields(nil).num(tagSeq, seqOf(f.body)).num(tagErrno, uint64(unix.EMFILE)).str(tagText, "keeper: "+unix.EMFILE.Error())
		return g.conn.send(kindFailed, b)
	}
	switch f.kind {
	case kindHello:
		return k.hello(g, f)
	case kindSpawn:
		return k.spawn(g, f)
	case kindDeposit, kindAdopt:
		return k.deposit(g, f)
	case kindForget:
		return k.forgetAll(g, f)
	case kindList:
		sys.CloseAll(f.fds)
		return k.list(g, seqOf(f.body))
	case kindUpgrade:
		return k.upgrade(g, f)
	case KindReady:
		k.served(g)
	case KindRefuse:
		k.mu.Lock()
		if k.ready != nil {
			k.failStart(textOf(f.body))
		}
		k.mu.Unlock()
	case kindTrim:
		k.trim(f.body)
	case KindStop:
		k.mu.Lock()
		k.stop = true
		k.mu.Unlock()
	}
	sys.CloseAll(f.fds) // including those of unknown kinds
	return nil
}

func seqOf(body []byte) (seq uint64) {
	_ = eachField(body, func(tag uint16, v []byte) error {
		if tag == tagSeq {
			seq = num(v)
		}
		return nil
	})
	return seq
}

func textOf(body []byte) (text string) {
	_ = eachField(body, func(tag uint16, v []byte) error {
		if tag == tagText {
			text = string(v)
		}
		return nil
	})
	return text
}

func (k *keeper) hello(g *generation, f frame) error {
	sys.CloseAll(f.fds)
	k.mu.Lock()
	b := fields(nil).num(tagSeq, seqOf(f.body)).num(tagVersion, keeperProtocol).
		num(tagPID, uint64(os.Getpid())).num(tagSince, uint64(k.since)).
		num(tagRestarts, uint64(k.restarts)).str(tagText, k.lastFail)
	for _, r := range k.starters {
		b = b.bytes(tagRlimit, packRlimit(nil, r))
	}
	k.mu.Unlock()
	return g.conn.send(kindWelcome, b)
}

// spawn starts a program and enters it into the table with the request's
// descriptors.
func (k *keeper) spawn(g *generation, f frame) error {
	s, seq, err := decodeSpawn(f.body)
	if err != nil {
		sys.CloseAll(f.fds)
		return err
	}
	k.mu.Lock()
	e, err := k.fork(&s)
	if err == nil {
		e.FDs = append(e.FDs, f.fds...)
	}
	k.mu.Unlock()
	if err != nil {
		sys.CloseAll(f.fds)
		var errno syscall.Errno
		errors.As(err, &errno)
		return g.conn.send(kindFailed, fields(nil).num(tagSeq, seq).num(tagErrno, uint64(errno)).str(tagText, err.Error()))
	}
	b := fields(nil).num(tagSeq, seq).str(tagID, e.ID).num(tagPID, uint64(e.PID)).num(tagStart, e.Start)
	return g.conn.send(kindSpawned, b, e.FDs[:e.Own]...)
}

// deposit adds or replaces what the server wants kept.
func (k *keeper) deposit(g *generation, f frame) error {
	e, _, err := decodeEntry(f.body)
	if err != nil || len(e.Data) > maxEntryData {
		sys.CloseAll(f.fds)
		return fmt.Errorf("%w: deposit of %d bytes: %v", ErrProtocol, len(e.Data), err)
	}
	k.mu.Lock()
	e.FDs = slices.Clone(f.fds)
	old := k.table[e.ID]
	switch {
	case f.kind == kindAdopt:
		k.forget(e.ID)
		e.Kind, e.Foreign, e.Own = EntrySession, true, min(e.Own, len(e.FDs))
		k.table[e.ID] = &e
	case old == nil:
		e.Kind, e.PID, e.Own, e.Exited = entryDeposit, 0, 0, false
		k.table[e.ID] = &e
	default:
		if len(f.fds) > 0 {
			sys.CloseAll(old.FDs[old.Own:])
			old.FDs = append(old.FDs[:old.Own:old.Own], e.FDs...)
		}
		old.Data = e.Data
	}
	k.mu.Unlock()
	return g.conn.send(kindOK, fields(nil).num(tagSeq, seqOf(f.body)))
}

func (k *keeper) forgetAll(g *generation, f frame) error {
	sys.CloseAll(f.fds)
	var seq uint64
	k.mu.Lock()
	err := eachField(f.body, func(tag uint16, v []byte) error {
		switch tag {
		case tagSeq:
			seq = num(v)
		case tagID:
			k.forget(string(v))
		}
		return nil
	})
	k.mu.Unlock()
	if err != nil {
		return err
	}
	return g.conn.send(kindOK, fields(nil).num(tagSeq, seq))
}

// list sends the table, with as many entries per message as descriptors and
// bytes allow.
func (k *keeper) list(g *generation, seq uint64) error {
	k.mu.Lock()
	rows := k.rows()
	bodies := make([]fields, len(rows))
	fds := make([][]int, len(rows))
	for i, e := range rows {
		bodies[i], fds[i] = e.encode(), slices.Clone(e.FDs)
	}
	k.mu.Unlock()
	// Only this goroutine closes descriptors of the table, so they stay open
	// while they are sent.
	head := fields(nil).num(tagSeq, seq)
	batch, batchFDs := slices.Clone(head), []int(nil)
	flush := func() error {
		err := g.conn.send(kindEntries, batch, batchFDs...)
		batch, batchFDs = slices.Clone(head), nil
		return err
	}
	for i, b := range bodies {
		if len(batchFDs)+len(fds[i]) > maxKeeperFDs || len(batch)+len(b) > maxEntryData {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, batchFDs = batch.bytes(tagEntry, b), append(batchFDs, fds[i]...)
	}
	if err := flush(); err != nil {
		return err
	}
	return g.conn.send(kindListed, head)
}

// trim closes descriptors of a process that the server no longer needs, such as
// the pipe of its standard input: the program then reads end of file.
func (k *keeper) trim(body []byte) {
	want, _, err := decodeEntry(body)
	if err != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if e := k.table[want.ID]; e != nil && want.Own < e.Own {
		sys.CloseAll(e.FDs[want.Own:e.Own])
		e.FDs = slices.Delete(e.FDs, want.Own, e.Own)
		e.Own = want.Own
	}
}

// upgrade keeps the image for the next server, which is tried when the current
// one ends.
func (k *keeper) upgrade(g *generation, f frame) error {
	version := ""
	_ = eachField(f.body, func(tag uint16, v []byte) error {
		if tag == tagData {
			version = string(v)
		}
		return nil
	})
	k.mu.Lock()
	if k.next != nil && k.next.fd >= 0 {
		unix.Close(k.next.fd)
		k.next = nil
	}
	k.lastFail = "" // of an earlier one; a server gets it at its start
	if len(f.fds) > 0 {
		k.next = &program{fd: sys.MoveFD(f.fds[0]), path: textOf(f.body), version: version}
		sys.CloseAll(f.fds[1:])
	} else if p := textOf(f.body); p != "" {
		k.next = &program{fd: -1, path: p, version: version}
	}
	k.mu.Unlock()
	return g.conn.send(kindOK, fields(nil).num(tagSeq, seqOf(f.body)))
}
