package journal

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Writer writes pages of history to their files, so that reading terminals never waits
// for the disk. One goroutine serves every session.
type Writer struct {
	mu    sync.Mutex
	queue []*History
	wake  chan struct{} // has space for one

	opened map[*History]int // descriptors of files written lately; used by Run only
}

const (
	openHistories   = 8               // files open at most
	historyOpenTime = 2 * time.Second // after the last page
)

func NewWriter() *Writer {
	return &Writer{wake: make(chan struct{}, 1), opened: make(map[*History]int)}
}

// enqueue queues a file. The file's mu is held.
func (w *Writer) enqueue(f *History) {
	if f.queued {
		return
	}
	f.queued = true
	w.mu.Lock()
	w.queue = append(w.queue, f)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Run writes until the server ends, then what is still waiting.
func (w *Writer) Run(done <-chan struct{}) {
	defer w.shutAll()
	for {
		w.Flush()
		var idle <-chan time.Time
		if len(w.opened) > 0 {
			idle = time.After(historyOpenTime)
		}
		select {
		case <-w.wake:
		case <-idle:
			w.shutAll()
		case <-done:
			w.Flush()
			return
		}
	}
}

// open returns the descriptor of a file, which stays open for more pages.
func (w *Writer) open(f *History) (int, error) {
	if fd, ok := w.opened[f]; ok {
		return fd, nil
	}
	if len(w.opened) >= openHistories {
		w.shutAll()
	}
	fd, err := openHistory(f.Path)
	if err == nil {
		w.opened[f] = fd
	}
	return fd, err
}

// shut closes a file if it is open.
func (w *Writer) shut(f *History) {
	if fd, ok := w.opened[f]; ok {
		unix.Close(fd)
		delete(w.opened, f)
	}
}

func (w *Writer) shutAll() {
	for f := range w.opened {
		w.shut(f)
	}
}

// Flush writes every file in the queue.
func (w *Writer) Flush() {
	for {
		w.mu.Lock()
		queue := w.queue
		w.queue = nil
		w.mu.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, f := range queue {
			f.flush()
		}
	}
}
