package proctree

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"
)

// killWait bounds the wait after KILL: only a process in uninterruptible sleep
// survives that long.
const killWait = 5 * time.Second

// ErrRemain: part of the tree still exists; the error's text names it.
var ErrRemain = errors.New("processes remain")

// Kill ends a tree: TERM to every member, HUP to those that ignore TERM, KILL
// after grace to those that remain. It calls members again until no new one
// turns up, so that processes born meanwhile are found; zombies and the calling
// process do not count. A stopped process is continued, so that it can act on
// TERM. If grace ≤ 0, KILL is sent at once.
//
// Kill waits for exits, not for time to pass, and returns nil as soon as the
// last member has ended. It signals only the incarnations that members
// returned. If ctx ends or members survive (another user's, or stuck in the
// kernel), the error names them and wraps ErrRemain or ctx.Err().
func Kill(ctx context.Context, members func() ([]Proc, error), grace time.Duration) error {
	k := &killer{members: members, held: make(map[key]*target)}
	defer k.close()
	if grace > 0 {
		done, err := k.ask(ctx, grace)
		if done || err != nil {
			return err
		}
	}
	done, err := k.pass(ctx, syscall.SIGKILL, time.Now().Add(killWait))
	if done || err != nil {
		return err
	}
	return k.remain(ErrRemain)
}

// ask is the polite pass: TERM, and HUP to those that ignore it. All members
// are held before the first HUP: a process that loses its parent may have no
// other link to the tree.
func (k *killer) ask(ctx context.Context, grace time.Duration) (done bool, err error) {
	if err := k.scan(); err != nil {
		return false, err
	}
	now := make([]Proc, 0, len(k.held))
	for _, t := range k.held {
		now = append(now, t.proc)
	}
	hanging, stop := context.WithTimeout(ctx, grace)
	var hangUps sync.WaitGroup
	defer hangUps.Wait()
	defer stop()
	hangUps.Go(func() { hangUp(hanging, now) })
	return k.pass(ctx, syscall.SIGTERM, time.Now().Add(grace))
}

// key is one incarnation of a pid.
type key struct {
	pid   int
	start uint64
}

// target is a member being killed.
type target struct {
	proc   Proc
	handle *handle
	sent   syscall.Signal // the strongest signal sent, 0 for none
	err    error          // why it could not be signalled
}

type killer struct {
	members func() ([]Proc, error)
	held    map[key]*target // the live members of the last scan
	scans   int
	born    bool // a member appeared after the first scan
}

// pass signals every member and waits until none is left (done) or the time is
// up.
func (k *killer) pass(ctx context.Context, sig syscall.Signal, until time.Time) (done bool, err error) {
	for {
		if err := k.signalAll(ctx, sig); err != nil {
			return false, err
		}
		if len(k.held) == 0 {
			if !k.born {
				return true, nil
			}
			// A scan is not atomic: where pids wrap around, a child may be born
			// after it and its parent end before it.
			k.born = false
			continue
		}
		if !time.Now().Before(until) || sig == syscall.SIGKILL && k.hopeless() {
			return false, nil
		}
		handles := make([]*handle, 0, len(k.held))
		for _, t := range k.held {
			handles = append(handles, t.handle)
		}
		if err := waitAny(ctx, handles, until); err != nil {
			return false, k.remain(err)
		}
	}
}

// signalAll scans until every member found has received sig.
func (k *killer) signalAll(ctx context.Context, sig syscall.Signal) error {
	for {
		if err := ctx.Err(); err != nil {
			return k.remain(err)
		}
		if err := k.scan(); err != nil {
			return err
		}
		fresh := false
		for _, t := range k.held {
			if t.sent == sig {
				continue
			}
			fresh = true
			t.signal(sig)
		}
		if !fresh {
			return nil
		}
	}
}

// scan sets held to the live members. A member stays one: if its parent ended
// first, members may be unable to see that it belongs.
func (k *killer) scan() error {
	procs, err := k.members()
	if err != nil {
		return fmt.Errorf("end process tree: %w", err)
	}
	k.scans++
	now := make(map[key]*target, len(procs))
	for _, p := range procs {
		k.keep(now, p)
	}
	if err := k.keepOrphans(now); err != nil {
		return fmt.Errorf("end process tree: %w", err)
	}
	k.close()
	k.held = now
	return nil
}

// keep moves a live process from held to now, or opens it.
func (k *killer) keep(now map[key]*target, p Proc) {
	id := key{p.PID, p.Start}
	if self(p) || p.Zombie() || now[id] != nil {
		return
	}
	t := k.held[id]
	if t == nil {
		h, alive := openHandle(p)
		if !alive {
			return
		}
		t = &target{handle: h}
		k.born = k.born || k.scans > 1
	}
	t.proc = p
	now[id] = t
	delete(k.held, id)
}

// keepOrphans keeps the remaining live processes in held, and their
// descendants.
func (k *killer) keepOrphans(now map[key]*target) error {
	if len(k.held) == 0 {
		return nil
	}
	all, err := Table()
	if err != nil {
		return err
	}
	in := make(map[int]bool)
	for _, p := range all {
		if k.held[key{p.PID, p.Start}] != nil && !p.Zombie() {
			in[p.PID] = true
		}
	}
	for _, p := range withDescendants(all, in) {
		k.keep(now, p)
	}
	return nil
}

// signal sends sig, followed by CONT if the process is stopped.
func (t *target) signal(sig syscall.Signal) {
	t.sent = sig
	t.err = t.handle.signal(sig)
	if t.err == nil && sig != syscall.SIGKILL && t.proc.Stopped() {
		t.err = t.handle.signal(syscall.SIGCONT)
	}
	if errors.Is(t.err, syscall.ESRCH) {
		t.err = nil // it ended; the next scan will not list it
	}
}

// hopeless reports whether none of the remaining members can be signalled.
func (k *killer) hopeless() bool {
	for _, t := range k.held {
		if t.err == nil {
			return false
		}
	}
	return true
}

// remain names the members found by the last scan.
func (k *killer) remain(cause error) error {
	var names []string
	for _, t := range k.held {
		name := fmt.Sprintf("%d (%s)", t.proc.PID, t.proc.Comm)
		if t.err != nil {
			name += ": " + t.err.Error()
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return fmt.Errorf("end process tree: %w", cause)
	}
	return fmt.Errorf("end process tree: %w: %s", cause, strings.Join(names, ", "))
}

func (k *killer) close() {
	for _, t := range k.held {
		t.handle.close()
	}
	clear(k.held)
}
