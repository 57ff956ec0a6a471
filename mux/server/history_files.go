package server

import (
	"os"
	"path/filepath"
	"strings"
)

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
