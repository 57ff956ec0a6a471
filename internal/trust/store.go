package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
)

// Record is a directory that a person trusts.
type Record struct {
	City   string    `json:"city"`
	Folder string    `json:"folder"` // identity of the directory: another at the same path is not trusted
	Since  time.Time `json:"since"`

	// Always: trust whatever it runs, now and later. Otherwise only what
	// Content and Files identify; see [Survey].
	Always  bool              `json:"always,omitempty"`
	Content string            `json:"content,omitempty"`
	Files   map[string]string `json:"files,omitempty"`
}

// Store holds the records, one file each, in the user's state directory.
type Store struct {
	dir string
}

// ErrStore means that trust cannot be recorded; it wraps the cause.
var ErrStore = errors.New("cannot record trust")

// ErrNoState means that the environment names no directory for the records.
var ErrNoState = errors.New("neither XDG_STATE_HOME nor HOME is set: nowhere to record trust")

// DefaultStore is $XDG_STATE_HOME/gc/trust, or else ~/.local/state/gc/trust.
func DefaultStore(getenv func(string) string) (Store, error) {
	dir := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification: relative paths are ignored
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Store{}, ErrNoState
		}
		dir = filepath.Join(home, ".local", "state")
	}
	return Store{dir: filepath.Join(dir, "gc", "trust")}, nil
}

func (s Store) path(city string) string {
	sum := sha256.Sum256([]byte(city))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// read returns the valid record of a city, false if there is none.
func (s Store) read(city string) (Record, bool) {
	r, err := readRecord(s.path(city))
	return r, err == nil && r.City == city && r.Folder != "" && r.Folder == identity(city)
}

// readRecord reads one file, and rejects one that another user could have
// written.
func readRecord(path string) (Record, error) {
	var r Record
	if err := config.CheckOwner(path); err != nil {
		return r, err
	}
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, err
}

// Knows reports whether the city was ever trusted, with whatever it ran then.
func (s Store) Knows(city string) bool {
	_, ok := s.read(city)
	return ok
}

// Trusts reports whether a person trusts everything surveyed.
func (s Store) Trusts(v Survey) bool {
	r, ok := s.read(v.City)
	return v.Nothing || ok && (r.Always || r.Content == v.Content)
}

// TrustsFile reports whether a person trusts the current content of a file that
// a city runs. It returns a *config.UnsafeError if another user could have
// written it.
func (s Store) TrustsFile(city, path string) (bool, error) {
	if err := config.CheckOwner(filepath.Join(city, config.FileName)); err != nil {
		return false, err
	}
	if err := config.CheckOwner(path); err != nil && strings.ContainsRune(path, filepath.Separator) {
		return false, err
	}
	r, ok := s.read(city)
	if !ok || r.Always {
		return ok, nil
	}
	want, known := r.Files[path]
	return known && want == fileSum(path), nil
}

// Add records trust in what was surveyed, or with always in whatever the
// directory will run.
func (s Store) Add(v Survey, always bool) error {
	r := Record{City: v.City, Folder: identity(v.City), Since: time.Now().UTC().Truncate(time.Second), Always: always}
	if !always {
		r.Content, r.Files = v.Content, v.Files
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.MkdirAll(s.dir, 0o700)
	}
	if err == nil {
		err = replaceFile(s.path(v.City), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	return nil
}

// replaceFile writes a file atomically.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// Remove deletes the record of a city; fs.ErrNotExist if there is none.
func (s Store) Remove(city string) error {
	if err := os.Remove(s.path(city)); err != nil {
		return fmt.Errorf("trust in %s: %w", city, err)
	}
	return nil
}

// List returns the records sorted by directory. Unreadable ones are omitted.
func (s Store) List() ([]Record, error) {
	names, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list trust: %w", err)
	}
	list := []Record{}
	for _, n := range names {
		if r, err := readRecord(filepath.Join(s.dir, n.Name())); err == nil && filepath.Ext(n.Name()) == ".json" {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b Record) int { return strings.Compare(a.City, b.City) })
	return list, nil
}
