package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
)

// Files in a session's directory.
const (
	stateFile = "state.json" // which process it is; written atomically
	exitFile  = "exit.json"  // how it ended; written atomically
	metaDir   = "meta"
	clearFile = "cleared" // the offset of the output at which Peek starts
)

// process is one incarnation of a pid.
type process struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in the kernel's unit
}

// alive reports whether the process still runs.
func (p process) alive() (bool, error) {
	now, err := proctree.Get(p.PID)
	if errors.Is(err, proctree.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, unreachable(err)
	}
	return now.Start == p.Start && !now.Zombie(), nil
}

// state is what the parent writes about its session.
type state struct {
	Name    string    `json:"name"`
	ID      string    `json:"id"` // GC_SESSION_ID of its processes
	WorkDir string    `json:"workDir"`
	Created time.Time `json:"created"`
	Process process   `json:"process"`
	Parent  process   `json:"parent"`

	dir string
}

// read returns the state kept under the name; ErrSessionNotFound if there is none.
func (p *Provider) read(name string) (state, error) {
	if runtime.CheckName(name) != nil {
		return state{}, runtime.ErrSessionNotFound
	}
	s, err := readState(p.folder(name))
	if err == nil && s.Name != name {
		return state{}, runtime.ErrSessionNotFound
	}
	return s, err
}

func readState(dir string) (state, error) {
	s := state{dir: dir}
	data, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, runtime.ErrSessionNotFound
	}
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, unreachable(err)
	}
	return s, nil
}

// live returns the running session of the name; ErrSessionNotFound if it ended.
func (p *Provider) live(name string) (state, error) {
	s, err := p.read(name)
	if err != nil {
		return s, err
	}
	alive, err := s.Process.alive()
	if err == nil && !alive {
		err = runtime.ErrSessionNotFound
	}
	return s, err
}

// tree returns everything that belongs to the session.
func (s state) tree() proctree.Tree {
	return proctree.Tree{Root: s.Process.PID, RootStart: s.Process.Start, ID: s.ID}
}

// lookAgain is the polling interval for changes without events.
const lookAgain = 5 * time.Millisecond

// parentLimit is how long a parent may take to exit after its child.
const parentLimit = 5 * time.Second

// awaitParent waits until the parent has exited: output and exit status are complete
// then. It returns at once for a running session.
func (s state) awaitParent(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, parentLimit)
	defer cancel()
	t := time.NewTicker(lookAgain)
	defer t.Stop()
	for {
		if running, err := s.Process.alive(); running || err != nil {
			return err
		}
		if keeping, err := s.Parent.alive(); !keeping || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return unreachable(ctx.Err())
		case <-t.C:
		}
	}
}

// exit returns how the session ended, nil while it runs.
func (s state) exit(ctx context.Context) (*runtime.Exit, error) {
	if running, err := s.Process.alive(); running || err != nil {
		return nil, err
	}
	if err := s.awaitParent(ctx); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(s.dir, exitFile))
	if errors.Is(err, fs.ErrNotExist) { // the parent was killed
		return &runtime.Exit{Code: -1, Reason: runtime.ReasonUnknown, Time: lastOutput(s)}, nil
	}
	var e runtime.Exit
	if err == nil {
		err = json.Unmarshal(data, &e)
	}
	if err != nil {
		return nil, unreachable(err)
	}
	return &e, nil
}

// writeWhole writes a file atomically.
func writeWhole(path string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return writeBytes(path, data)
}

func writeBytes(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
