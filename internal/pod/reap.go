package pod

import (
	"os"
	"os/signal"
	"sync"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// reaper collects the children of this process: as the first process of a container it is
// given every orphan.
type reaper struct {
	signals chan os.Signal
	done    chan struct{} // closed when run has ended

	mu     sync.Mutex // held while children are collected
	pid    int        // the session's program
	status chan unix.WaitStatus
}

// reap starts to collect children, until close.
func reap() *reaper {
	adoptOrphans()
	r := &reaper{signals: make(chan os.Signal, 1), done: make(chan struct{}), status: make(chan unix.WaitStatus, 1)}
	signal.Notify(r.signals, unix.SIGCHLD)
	go r.run()
	return r
}

func (r *reaper) run() {
	defer close(r.done)
	for range r.signals {
		r.collect()
	}
}

func (r *reaper) collect() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, ws := range proctree.Reap() {
		if pid == r.pid {
			r.status <- ws // it was emptied by watch
			r.pid = 0
		}
	}
}

// without calls f while no child is collected: f waits for its own. Then it collects those
// that ended meanwhile.
func (r *reaper) without(f func()) {
	r.mu.Lock()
	f()
	r.mu.Unlock()
	r.collect()
}

// watch asks for the status of the session's program, should it become an orphan: its
// keeper died, and nobody else can know.
func (r *reaper) watch(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pid = pid
	select {
	case <-r.status:
	default:
	}
}

// close stops collecting.
func (r *reaper) close() {
	signal.Stop(r.signals)
	close(r.signals)
	<-r.done
}

// killChildren ends what nobody controls any more, as the end of a container's first
// process does.
func killChildren() {
	for {
		all, err := proctree.Table()
		if err != nil {
			return
		}
		none := true
		for _, p := range all {
			if p.PPID == os.Getpid() {
				none = false
				_ = unix.Kill(p.PID, unix.SIGKILL)
				_, _ = unix.Wait4(p.PID, nil, 0, nil) // its children are ours now
			}
		}
		if none {
			return
		}
	}
}
