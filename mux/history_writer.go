package mux

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// historyWriter brings pages of history to their files, off the path that
// reads the terminals: one goroutine serves every session.
type historyWriter struct {
	mu    sync.Mutex
	queue []*historyFile
	wake  chan struct{} // has room for one
}

func newHistoryWriter() *historyWriter { return &historyWriter{wake: make(chan struct{}, 1)} }

// enqueue lets the writer look at a file. The file's mu is held.
func (w *historyWriter) enqueue(f *historyFile) {
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

// run writes until the server ends, and then what still waits.
func (w *historyWriter) run(done <-chan struct{}) {
	for {
		w.flush()
		select {
		case <-w.wake:
		case <-done:
			w.flush()
			return
		}
	}
}

// flush serves every file that is in the queue.
func (w *historyWriter) flush() {
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

// historyPath is where the pages of a session's history stand.
func (srv *server) historyPath(id string) string {
	return filepath.Join(srv.paths.Dir, "history", id)
}

// sweepFiles removes histories and recordings of sessions that are not there:
// those of a server whose keeper died with it.
func (srv *server) sweepFiles() {
	for _, path := range []string{srv.historyPath(""), srv.recordingPath("")} {
		entries, err := os.ReadDir(path)
		if err != nil {
			continue // there never was one
		}
		for _, e := range entries {
			if srv.sessions[strings.TrimSuffix(e.Name(), olderRecording(""))] == nil {
				_ = os.Remove(filepath.Join(path, e.Name()))
			}
		}
	}
}
