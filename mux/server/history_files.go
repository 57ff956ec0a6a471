package server

import (
	"os"
	"path/filepath"

	"gascity.dev/gc/mux/journal"
)

// historyPath is the file of a session's history.
func (srv *server) historyPath(id string) string {
	return filepath.Join(srv.paths.Dir, "history", id)
}

// sweepFiles removes histories and recordings without a session, left by a server that
// died together with its keeper.
func (srv *server) sweepFiles() {
	keep := map[string]bool{}
	for id := range srv.sessions {
		keep[srv.historyPath(id)] = true
		for _, path := range journal.RecordingFiles(srv.recordingPath(id)) {
			keep[path] = true
		}
	}
	for _, dir := range []string{srv.historyPath(""), srv.recordingPath("")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // there never was one
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); !keep[path] {
				_ = os.Remove(path)
			}
		}
	}
}
