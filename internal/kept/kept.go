// Package kept bounds what a city keeps of sessions that have ended: the transcripts of
// agents over ACP, the artifacts of runs, and the recordings that its backends keep. It
// removes files that gc wrote, never others beside them, and asks its caller whether a
// session lives. The controller and gc doctor call it.
package kept

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/runtime"
)

// Files in a session's directory below that of a run's artifacts.
const (
	Screen     = "screen.txt"
	Scrollback = "scrollback.txt"
	Cast       = "session.cast"
	Result     = "result.json"
)

// maxRuns is how many directories of artifacts a city remembers.
const maxRuns = 1000

// Item is what is kept of one session in one directory, or its recording.
type Item struct {
	Dir       string // "" for a recording
	Session   string
	Artifacts bool               // of a run; else a transcript
	Recording *runtime.Recording // by a backend; nil for files
	Bytes     int64
	Changed   time.Time // its newest file
}

// Recordings returns the recordings of the city in dir that the backends of p keep.
// Results that come with an error are correct but incomplete.
func Recordings(ctx context.Context, p runtime.Provider, dir string) ([]Item, error) {
	keeper, ok := runtime.As[runtime.RecordingKeeper](p)
	if !ok {
		return nil, nil
	}
	list, err := keeper.Recordings(ctx, agent.MetaCityPath, dir)
	items := make([]Item, 0, len(list))
	for _, r := range list {
		items = append(items, Item{Session: r.Session, Recording: &r, Bytes: r.Bytes, Changed: r.Changed})
	}
	return items, err
}

// RemoveRecording removes a recording, unless its session runs.
func RemoveRecording(ctx context.Context, p runtime.Provider, it Item) (removed bool, err error) {
	keeper, ok := runtime.As[runtime.RecordingKeeper](p)
	if !ok || it.Recording.Running {
		return false, nil
	}
	err = keeper.DropRecording(ctx, *it.Recording)
	return err == nil, err
}

// Find returns all files that the city in dir keeps.
func Find(dir string) ([]Item, error) {
	items, err := below(filepath.Join(dir, ".gc", "acp"), false)
	runs, errRuns := readRuns(dir)
	errs := []error{err, errRuns}
	for _, run := range runs {
		more, err := below(run, true)
		items, errs = append(items, more...), append(errs, err)
	}
	return items, errors.Join(errs...)
}

// below returns the sessions with a directory in dir.
func below(dir string, artifacts bool) ([]Item, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var items []Item
	for _, e := range entries {
		it := Item{Dir: filepath.Join(dir, e.Name()), Session: e.Name(), Artifacts: artifacts}
		if !e.IsDir() || artifacts && !exists(filepath.Join(it.Dir, Result)) {
			continue
		}
		for _, path := range it.files() {
			if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
				it.Bytes += st.Size()
				if st.ModTime().After(it.Changed) {
					it.Changed = st.ModTime()
				}
			}
		}
		if it.Bytes > 0 {
			items = append(items, it)
		}
	}
	return items, err
}

// What names the item for a log.
func (it *Item) What() string {
	if it.Recording != nil {
		return "the recording of " + it.Session + " (" + it.Recording.ID + ")"
	}
	return it.Dir
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// files are the paths that gc wrote.
func (it *Item) files() []string {
	var paths []string
	if it.Artifacts {
		for _, name := range []string{Screen, Scrollback, Cast, Result} {
			paths = append(paths, filepath.Join(it.Dir, name))
		}
		return paths
	}
	entries, _ := os.ReadDir(it.Dir) // what cannot be read is not removed either
	for _, e := range entries {
		paths = append(paths, filepath.Join(it.Dir, e.Name()))
	}
	return paths
}

// Remove removes the item's files, and its directory if nothing else is in it.
func (it *Item) Remove() error {
	var errs []error
	for _, path := range it.files() {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = os.Remove(it.Dir) // it may hold other files
	return errors.Join(errs...)
}

// Total returns the bytes of all items.
func Total(items []Item) (sum int64) {
	for _, it := range items {
		sum += it.Bytes
	}
	return sum
}

// Oldest returns the items with the oldest first, or none if all of them are at most max
// bytes; 0 is no limit.
func Oldest(items []Item, max int64) []Item {
	if max <= 0 || Total(items) <= max {
		return nil
	}
	items = slices.Clone(items)
	slices.SortStableFunc(items, func(a, b Item) int { return a.Changed.Compare(b.Changed) })
	return items
}

func runsFile(dir string) string { return filepath.Join(dir, ".gc", "artifacts") }

// readRuns returns the directories of artifacts that AddRun recorded, oldest first.
func readRuns(dir string) ([]string, error) {
	b, err := os.ReadFile(runsFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var runs []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSuffix(line, "\n"); filepath.IsAbs(line) && !slices.Contains(runs, line) {
			runs = append(runs, line)
		}
	}
	return runs, err
}

// AddRun records a directory of artifacts of the city in dir, as the newest one.
func AddRun(dir, artifacts string) error {
	path, err := filepath.Abs(artifacts)
	if err != nil {
		return err
	}
	if strings.ContainsAny(path, "\r\n") {
		return fmt.Errorf("artifacts directory %q has a line break in its name", path)
	}
	runs, err := readRuns(dir)
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(run string) bool { return run == path || !exists(run) })
	runs = append(runs, path)
	runs = runs[max(0, len(runs)-maxRuns):]
	tmp := runsFile(dir) + ".new"
	if err := os.WriteFile(tmp, []byte(strings.Join(runs, "\n")+"\n"), 0o600); err != nil {
		os.Remove(tmp)
		return err
	}
	return os.Rename(tmp, runsFile(dir))
}
