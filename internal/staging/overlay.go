package staging

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// perProvider is the subdirectory of an overlay with files for certain
	// agents.
	perProvider = "per-provider"

	stateDir = ".gc"
	manifest = ".gc/staged.json"

	// lockRetry is the pause between attempts to take a lock held by another
	// gc: staging takes milliseconds.
	lockRetry = 5 * time.Millisecond
)

// Slots returns the per-provider subdirectories that apply: the overlay name,
// or else the provider's, then each hook's, without blanks and duplicates. An
// overlay name for which no dir has a subdirectory falls back to the provider's
// name.
func Slots(dirs []string, overlayName, providerName string, hooks []string) []string {
	first := overlayName
	if first == "" || !slices.ContainsFunc(dirs, func(d string) bool {
		info, err := os.Stat(filepath.Join(d, perProvider, first))
		return err == nil && info.IsDir() && filepath.IsLocal(first)
	}) {
		first = providerName
	}
	var out []string
	for _, s := range append([]string{first}, hooks...) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// staged is the manifest: the files we wrote, and their content.
type staged struct {
	Version int               `json:"version"` // 1
	Files   map[string]string `json:"files"`   // path below the work directory → SHA-256
	// Pending are the files of a staging in progress: each is as in Files, or
	// already as here.
	Pending map[string]string `json:"pending,omitempty"`
}

// Overlay merges the directories, later ones taking precedence, and copies the
// result into workDir. Within a directory the slots' per-provider files take
// precedence over the others, and later slots over earlier ones. A file that is
// not ours, or was changed since we wrote it, is left alone; ours are recorded
// in the manifest .gc/staged.json. A missing directory is an error, and so is a
// link that leads out of one; nothing is written before everything was read.
func Overlay(ctx context.Context, workDir string, dirs, slots []string) error {
	if len(dirs) == 0 {
		return nil
	}
	entries, done, err := merge(ctx, dirs, slots)
	defer done()
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	if len(entries) == 0 {
		return nil
	}
	work, err := os.OpenRoot(workDir)
	if err != nil {
		return fmt.Errorf("overlay: work dir: %w", err)
	}
	defer work.Close()
	return overlay(ctx, work, entries)
}

// overlay writes merged entries.
func overlay(ctx context.Context, work *os.Root, entries []entry) error {
	if err := work.MkdirAll(stateDir, 0o755); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	unlock, err := lock(ctx, work)
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	defer unlock()
	if err := apply(ctx, work, entries); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	return nil
}

// merge returns the winning entry of every path. done closes the roots.
func merge(ctx context.Context, dirs, slots []string) (entries []entry, done func(), err error) {
	var roots []*os.Root
	done = func() {
		for _, r := range roots {
			r.Close()
		}
	}
	byRel := map[string]entry{}
	add := func(root *os.Root, skip ...string) error {
		roots = append(roots, root)
		es, err := list(ctx, root, "", skip...)
		for _, e := range es {
			byRel[e.rel] = e
		}
		return err
	}
	for _, dir := range dirs {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return nil, done, err
		}
		if err := add(root, perProvider); err != nil {
			return nil, done, err
		}
		for _, slot := range slots {
			sub, err := root.OpenRoot(perProvider + "/" + slot)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, done, escape(filepath.Join(dir, perProvider, slot), err)
			}
			if err := add(sub); err != nil {
				return nil, done, err
			}
		}
	}
	for _, e := range byRel {
		if e.rel == manifest {
			return nil, done, fmt.Errorf("%s is reserved for gc", manifest)
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		if a.rel < b.rel {
			return -1
		}
		return 1
	})
	return entries, done, nil
}

// apply writes the entries that may be written. The manifest records what each
// file will contain before it is written, so that it is recognised as ours
// after a failure at any point.
func apply(ctx context.Context, work *os.Root, entries []entry) error {
	m, err := readManifest(work)
	if err != nil {
		return err
	}
	unfinished := len(m.Pending) > 0
	if err := m.resolve(work); err != nil {
		return err
	}
	var todo []entry
	for _, e := range entries {
		want, err := m.wanted(ctx, work, e)
		if err != nil {
			return err
		}
		if want != "" {
			todo, m.Pending[e.rel] = append(todo, e), want
		}
	}
	if len(todo) == 0 && !unfinished {
		return nil
	}
	if err := writeManifest(work, m); err != nil {
		return err
	}
	err = m.write(ctx, work, todo)
	clear(m.Pending) // of what was not written
	return errors.Join(err, writeManifest(work, m))
}

// resolve records the files that an earlier, interrupted staging wrote.
func (m *staged) resolve(work *os.Root) error {
	for rel, hash := range m.Pending {
		have, err := existing(work, rel)
		if err != nil {
			return err
		}
		if have == hash {
			m.Files[rel] = hash
		}
	}
	clear(m.Pending)
	return nil
}

// wanted returns the hash to write for the entry; "" if the file is the user's
// or up to date.
func (m *staged) wanted(ctx context.Context, work *os.Root, e entry) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	have, err := existing(work, e.rel)
	if err != nil {
		return "", err
	}
	if have != "" && have != m.Files[e.rel] {
		return "", nil // the user's
	}
	want, err := e.hash()
	if err != nil || have == want {
		return "", err
	}
	return want, nil
}

// write writes the pending entries until one fails.
func (m *staged) write(ctx context.Context, work *os.Root, todo []entry) error {
	for _, e := range todo {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := e.write(work); err != nil {
			return err
		}
		m.Files[e.rel] = m.Pending[e.rel]
	}
	return nil
}

func readManifest(work *os.Root) (staged, error) {
	m := staged{Version: 1, Files: map[string]string{}, Pending: map[string]string{}}
	data, err := work.ReadFile(manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("%s: %w", manifest, err)
	}
	if m.Version != 1 {
		return m, fmt.Errorf("%s: version %d is newer than this gc supports", manifest, m.Version)
	}
	if m.Files == nil {
		m.Files = map[string]string{}
	}
	if m.Pending == nil {
		m.Pending = map[string]string{}
	}
	return m, nil
}

func writeManifest(work *os.Root, m staged) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	const tmp = manifest + ".new"
	if err := work.WriteFile(tmp, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return work.Rename(tmp, manifest)
}

// lock excludes other gc processes and goroutines from staging into the same
// work directory. It locks the state directory itself, so that no lock file is
// left.
func lock(ctx context.Context, work *os.Root) (unlock func(), err error) {
	dir, err := work.Open(stateDir)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return func() { dir.Close() }, nil
		}
		if err != unix.EWOULDBLOCK && err != unix.EINTR {
			dir.Close()
			return nil, fmt.Errorf("lock %s: %w", dir.Name(), err)
		}
		select {
		case <-ctx.Done():
			dir.Close()
			return nil, fmt.Errorf("lock %s: %w", dir.Name(), ctx.Err())
		case <-time.After(lockRetry):
		}
	}
}
