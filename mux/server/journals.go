package server

import (
	"os"
	"path/filepath"

	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/journal"
	"gascity.dev/gc/mux/keeper"
)

// journals holds the table of journals and the paths of histories and recordings.
type journals struct {
	srv     *server
	table   *journal.Table
	tableFD int
	writer  *journal.Writer // of the history files
}

// tableID is the keeper's entry for the table of journals.
const tableID = "table"

// open maps the table that the keeper holds, or makes one.
func (j *journals) open(entries []keeper.Entry) error {
	for _, e := range entries {
		if e.ID == tableID && len(e.FDs) == 1 {
			j.tableFD = e.FDs[0]
			t, err := journal.MapTable(e.FDs[0])
			j.table = t
			return err
		}
	}
	fd, err := sys.NewMemory(j.srv.settings.paths.Dir, journal.HeaderSize*journal.TableSize)
	if err != nil {
		return err
	}
	j.tableFD = fd
	if j.table, err = journal.MapTable(fd); err != nil {
		return err
	}
	return j.srv.keeper.link.Deposit(tableID, nil, fd)
}

// historyPath returns the path of a session's history.
func (j *journals) historyPath(id string) string {
	return filepath.Join(j.srv.settings.paths.Dir, "history", id)
}

// recordingPath returns the path of a session's recording.
func (j *journals) recordingPath(id string) string {
	return filepath.Join(j.srv.settings.paths.Dir, "recordings", id)
}

// sweep removes histories and recordings without a session, left by a server that
// died together with its keeper.
func (j *journals) sweep() {
	keep := map[string]bool{}
	for id := range j.srv.sessions.byID {
		keep[j.historyPath(id)] = true
		for _, path := range journal.RecordingFiles(j.recordingPath(id)) {
			keep[path] = true
		}
	}
	for _, dir := range []string{j.historyPath(""), j.recordingPath("")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // none yet
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); !keep[path] {
				_ = os.Remove(path)
			}
		}
	}
}
