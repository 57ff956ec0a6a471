package server

import (
	"time"

	"gascity.dev/gc/internal/process"
)

// The output of a command in the foreground is read as fast as its caller takes
// it, as over a pipe: when the caller is behind, the command's terminal or pipe
// fills, and the command waits. The ring still holds all that the caller did not
// take, so that the server keeps nothing in memory and waits for nobody.
const (
	flowWindow = 2 << 20         // how far the caller may be behind
	flowRest   = 5 << 20         // and when the leader has ended; less than the ring's tail
	flowAway   = 5 * time.Second // a caller who is gone for so long does not come back
)

// flow is how far the callers of a command in the foreground took its output.
type flow struct {
	on    bool
	taken uint64        // offset
	moved chan struct{} // closed when the session is held no longer; nil while nobody waits
}

// held reports whether output stays with the program: its caller has to take what
// there is, or the journal has no room. mu is held.
func (o *output) held() bool {
	s := o.s
	if s.storage.stall.on {
		return true
	}
	if !o.flow.on {
		return false
	}
	limit := uint64(flowWindow)
	if s.life.dead != nil {
		limit = flowRest
	}
	return s.screen.rendered >= o.flow.taken+limit
}

// changeFlow applies a change to the flow and goes on with reading when it
// allows that.
func (o *output) changeFlow(f func(*flow)) {
	o.s.mu.Lock()
	defer o.s.mu.Unlock()
	was := o.held()
	f(&o.flow)
	if was {
		o.flowMoved()
	}
}

// flowMoved goes on with reading when the session is held no longer. mu is held.
func (o *output) flowMoved() {
	s := o.s
	if o.held() {
		return
	}
	s.activity.lastOut = s.srv.clock.Now().UnixNano() // it was not the program that was silent
	o.flow.wake()
	s.srv.loop.armLocked(s)
}

// wake tells who waits until the session is held no longer.
func (f *flow) wake() {
	if f.moved != nil {
		close(f.moved)
		f.moved = nil
	}
}

// end lets nobody wait any more.
func (f *flow) end() {
	f.on = false
	f.wake()
}

// resumeFlow supposes, after a restart of the server, that the caller is as far
// behind as it may be, until it says so. mu is held.
func (o *output) resumeFlow() {
	o.flow.taken = o.s.screen.rendered - min(o.s.screen.rendered, flowWindow)
}

// open gives the session of a command what keeps its output. mu is held,
// or nobody else knows the session.
func (o *output) open() {
	s := o.s
	o.ring = s.srv.execs.ring(s.rec)
	if o.flow.on = o.ring != nil && s.srv.execs.paced(s.rec.ID); o.flow.on {
		o.ring.SetSpill(process.SpillFront)
	}
}

// paced reports whether a command waits for its caller to take the output.
func (x *execs) paced(id string) bool {
	p, err := x.find(id)
	if err != nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.paced()
}

// paced is execs.paced. mu is held.
func (p *proc) paced() bool {
	return p.rec.Follow && !p.rec.Background && !p.rec.Status.Ended()
}

// reader is a caller that takes the output.
type reader struct{ at uint64 }

// enterReader counts a caller that takes the output from an offset on.
func (p *proc) enterReader(r *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away != nil {
		p.away.Stop()
		p.away = nil
	}
	p.readers = append(p.readers, r)
	if p.s != nil && p.paced() {
		least := p.slowest()
		p.s.output.changeFlow(func(f *flow) { f.on, f.taken = p.s.output.ring != nil, least })
	}
}

// tookOutput notes how far a caller came.
func (p *proc) tookOutput(r *reader, to uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r.at = to
	p.rec.Acked = max(p.rec.Acked, to)
	if p.s != nil {
		least := p.slowest()
		p.s.output.changeFlow(func(f *flow) { f.taken = least })
	}
}

// leaveReader counts a caller no more. The last one may come back, after a cut
// connection; else the command goes on without it.
func (p *proc) leaveReader(r *reader) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.readers {
		if other == r {
			p.readers = append(p.readers[:i], p.readers[i+1:]...)
			break
		}
	}
	p.awaitReader()
	if p.rec.Status.Ended() && len(p.readers) == 0 { // its caller may still ask for the whole result
		time.AfterFunc(flowAway, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(p.readers) == 0 {
				p.spareMemory()
			}
		})
	}
}

// awaitReader gives a caller who is not there time to come. mu is held.
func (p *proc) awaitReader() {
	if p.s == nil || !p.paced() || p.away != nil {
		return
	}
	if len(p.readers) > 0 {
		least := p.slowest()
		p.s.output.changeFlow(func(f *flow) { f.taken = least })
		return
	}
	p.away = time.AfterFunc(flowAway, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.readers) == 0 && p.s != nil {
			p.s.output.changeFlow(func(f *flow) { f.on = false })
			p.spareMemory()
		}
	})
}

// spareMemory keeps no more output in memory than a command in the background
// needs. mu is held.
func (p *proc) spareMemory() {
	if p.out != nil {
		p.out.SetSpill(0)
	}
}

// slowest is how far the last of the callers is. mu is held.
func (p *proc) slowest() uint64 {
	least := p.readers[0].at
	for _, r := range p.readers[1:] {
		least = min(least, r.at)
	}
	return least
}
