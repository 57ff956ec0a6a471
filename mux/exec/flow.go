package exec

import (
	"slices"
	"time"
)

// The output of a foreground command is read as fast as its caller takes it, as
// over a pipe: when the caller lags, the command's terminal or pipe fills, and
// the command blocks. The ring still holds everything that the caller has not
// taken, so the server buffers nothing in memory and waits for no caller.
const (
	FlowWindow = 2 << 20         // bytes the caller may lag
	flowDrain  = 5 << 20         // the same once the program has ended; less than the ring's tail
	flowAway   = 5 * time.Second // how long a caller may be disconnected
)

// reader is a caller that takes the output. at is the offset that it has reached.
type reader struct{ at uint64 }

// readers are the callers that take a command's output. The command's mu guards them.
type readers struct {
	cmd  *Command
	list []*reader
	away *time.Timer // runs while a command in the foreground has none
}

// wanted reports whether the command waits for its callers to take the output. cmd.mu
// is held.
func (rs *readers) wanted() bool {
	r := &rs.cmd.rec
	return r.Follow && !r.Background && !r.Status.Ended()
}

// Output returns where the session of a command writes its output; ErrNotFound for an
// unknown command.
func (c *Commands) Output(id string) (*Output, error) {
	cmd, err := c.Find(id)
	if err != nil {
		return nil, err
	}
	out, err := cmd.output()
	if err != nil {
		return nil, err
	}
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	if cmd.readers.wanted() {
		out.begin()
	}
	return out, nil
}

// enter adds a caller that takes the output from r.at on.
func (rs *readers) enter(r *reader) {
	cmd := rs.cmd
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	rs.stop()
	rs.list = append(rs.list, r)
	if rs.wanted() {
		rs.pace(true)
	}
}

// took notes a caller's new offset.
func (rs *readers) took(r *reader, to uint64) {
	cmd := rs.cmd
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	r.at = to
	cmd.rec.Acked = max(cmd.rec.Acked, to)
	rs.pace(false)
}

// leave removes a caller. The last one may return after a cut connection;
// otherwise the command continues without it.
func (rs *readers) leave(r *reader) {
	cmd := rs.cmd
	cmd.mu.Lock()
	defer cmd.mu.Unlock()
	rs.list = slices.DeleteFunc(rs.list, func(other *reader) bool { return other == r })
	rs.await()
	if cmd.rec.Status.Ended() && len(rs.list) == 0 { // its caller may still ask for the whole result
		time.AfterFunc(flowAway, func() {
			cmd.mu.Lock()
			defer cmd.mu.Unlock()
			if len(rs.list) == 0 {
				rs.spareMemory()
			}
		})
	}
}

// await gives a disconnected caller time to return. cmd.mu is held.
func (rs *readers) await() {
	cmd := rs.cmd
	if cmd.session == nil || !rs.wanted() || rs.away != nil {
		return
	}
	if len(rs.list) > 0 {
		rs.pace(false)
		return
	}
	rs.away = time.AfterFunc(flowAway, func() {
		cmd.mu.Lock()
		defer cmd.mu.Unlock()
		if len(rs.list) == 0 {
			rs.release()
		}
	})
}

// stop ends the wait for a caller. cmd.mu is held.
func (rs *readers) stop() {
	if rs.away != nil {
		rs.away.Stop()
		rs.away = nil
	}
}

// pace limits the command to what its slowest caller allows; begin resumes that
// after release. cmd.mu is held.
func (rs *readers) pace(begin bool) {
	cmd := rs.cmd
	if cmd.session == nil || cmd.out == nil {
		return
	}
	least := rs.list[0].at
	for _, r := range rs.list[1:] {
		least = min(least, r.at)
	}
	if cmd.out.take(least, begin) {
		cmd.session.Resume()
	}
}

// release lets the command write without waiting for callers. cmd.mu is held.
func (rs *readers) release() {
	cmd := rs.cmd
	if cmd.session != nil && cmd.out != nil && cmd.out.free() {
		cmd.session.Resume()
	}
	rs.spareMemory()
}

// spareMemory limits the output in memory to what a background command needs.
// cmd.mu is held.
func (rs *readers) spareMemory() {
	if out := rs.cmd.out; out != nil {
		out.ring.SetSpill(0)
	}
}
