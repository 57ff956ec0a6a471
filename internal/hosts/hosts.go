// Package hosts remembers the other machines that a person uses: a short name, the
// URL, what gc is called there, and what the last check found.
//
// The registry is one file in the user's configuration directory. It is read
// strictly, replaced atomically under its own lock, and used only if no other user
// can write it. It holds no secrets and connects to nothing. The host commands
// write it; whoever takes a --host reads it.
package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Host is a machine that a person registered.
type Host struct {
	Name string `json:"name"`
	URL  string `json:"url"`           // ssh://[user@]HOST[:port]
	Bin  string `json:"bin,omitempty"` // the path of gc there; empty: gc is on its PATH

	Check *Check `json:"check,omitempty"` // the last one; nil before the first
}

// Check is what a check found. What it could not tell is empty.
type Check struct {
	At      time.Time `json:"at"`
	Version string    `json:"version,omitempty"`
	OS      string    `json:"os,omitempty"`
	Arch    string    `json:"arch,omitempty"`
	Problem string    `json:"problem,omitempty"` // the first; empty if the host can be used
}

// Registry is the file with the hosts.
type Registry struct {
	path string
}

// Errors of the registry.
var (
	ErrUnknown  = errors.New("no such host is registered")
	ErrExists   = errors.New("the name is taken")
	ErrBadHost  = errors.New("bad host")
	ErrNoConfig = errors.New("neither XDG_CONFIG_HOME nor HOME is set: nowhere to remember hosts")
)

// FileError reports a registry that cannot be used.
type FileError struct {
	Path string
	Err  error
	Next string // the next step
}

func (e *FileError) Error() string { return e.Path + ": " + e.Err.Error() }
func (e *FileError) Unwrap() error { return e.Err }

// Hint is the next step.
func (e *FileError) Hint() string { return e.Next }

// Default is $XDG_CONFIG_HOME/gc/hosts.json, or else ~/.config/gc/hosts.json.
func Default(getenv func(string) string) (Registry, error) {
	dir := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) { // the XDG specification: relative paths are ignored
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return Registry{}, ErrNoConfig
		}
		dir = filepath.Join(home, ".config")
	}
	return Registry{path: filepath.Join(dir, "gc", "hosts.json")}, nil
}

// file is the content of the registry.
type file struct {
	Hosts []Host `json:"hosts"`
}

// List returns the hosts sorted by name; none if there is no file.
func (r Registry) List() ([]Host, error) {
	list, err := r.read()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Host) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Find returns the host of a name or of a URL; false if there is none.
func (r Registry) Find(nameOrURL string) (Host, bool, error) {
	list, err := r.read()
	i := index(list, nameOrURL)
	if err != nil || i < 0 {
		return Host{}, false, err
	}
	return list[i], true, nil
}

func index(list []Host, nameOrURL string) int {
	return slices.IndexFunc(list, func(h Host) bool { return h.Name == nameOrURL || h.URL == nameOrURL })
}

// Add remembers a host, or changes the one of the same name and URL. ErrExists if
// either belongs to another host.
func (r Registry) Add(h Host) error {
	return r.change(func(list []Host) ([]Host, error) { return add(list, h) })
}

func add(list []Host, h Host) ([]Host, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	for i, old := range list {
		switch {
		case old.Name == h.Name && old.URL == h.URL:
			list[i] = h
			return list, nil
		case old.Name == h.Name || old.URL == h.URL:
			return nil, fmt.Errorf("%w: %s is %s", ErrExists, old.Name, old.URL)
		}
	}
	return append(list, h), nil
}

// Check returns the error that Add would return for a host.
func (r Registry) Check(h Host) error {
	list, err := r.read()
	if err == nil {
		_, err = add(list, h)
	}
	return err
}

// Update changes the host of a name or URL. ErrUnknown if it is not registered.
func (r Registry) Update(nameOrURL string, change func(*Host)) error {
	return r.change(func(list []Host) ([]Host, error) {
		i := index(list, nameOrURL)
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrUnknown, nameOrURL)
		}
		change(&list[i])
		return list, list[i].check()
	})
}

// Remove forgets a host. ErrUnknown if it is not registered.
func (r Registry) Remove(nameOrURL string) error {
	return r.change(func(list []Host) ([]Host, error) {
		i := index(list, nameOrURL)
		if i < 0 {
			return nil, fmt.Errorf("%w: %s", ErrUnknown, nameOrURL)
		}
		return slices.Delete(list, i, i+1), nil
	})
}

var goodName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`) })

func (h Host) check() error {
	if !goodName().MatchString(h.Name) {
		return fmt.Errorf("%w: name %q: want letters, digits, dots, dashes and underscores", ErrBadHost, h.Name)
	}
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme == "" || u.Host == "" {
		return fmt.Errorf("%w: URL %q: want ssh://[user@]HOST[:port]", ErrBadHost, h.URL)
	}
	if _, has := u.User.Password(); has {
		return fmt.Errorf("%w: the URL of %s has a password", ErrBadHost, h.Name)
	}
	return nil
}

// read returns the hosts in the order of the file.
func (r Registry) read() ([]Host, error) {
	data, err := r.content()
	if err != nil || data == nil {
		return nil, err
	}
	var f file
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		return nil, r.bad(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, r.bad(errors.New("text after the end"))
	}
	for i, h := range f.Hosts {
		if err := h.check(); err != nil {
			return nil, r.bad(err)
		}
		if index(f.Hosts, h.Name) < i || index(f.Hosts, h.URL) < i {
			return nil, r.bad(fmt.Errorf("%s (%s) is there twice", h.Name, h.URL))
		}
	}
	return f.Hosts, nil
}

// maxFile is the size of the largest registry, in bytes.
const maxFile = 1 << 20

// content is nil if there is no file.
func (r Registry) content() ([]byte, error) {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &FileError{r.path, unwrapped(err), "make it readable, or move it away"}
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, r.bad(err)
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return nil, r.bad(errors.New("not a regular file"))
	case st.Mode().Perm()&0o022 != 0:
		return nil, &FileError{r.path, errors.New("other users can write to it"), "chmod 600 " + r.path + ", after a look at what it says"}
	case ok && int(sys.Uid) != os.Geteuid() && sys.Uid != 0:
		return nil, &FileError{r.path, errors.New("it belongs to another user"), "move it away"}
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, r.bad(err)
	}
	if len(data) > maxFile {
		return nil, r.bad(errors.New("too large"))
	}
	return append([]byte{}, data...), nil
}

func (r Registry) bad(err error) error {
	return &FileError{r.path, unwrapped(err), "correct it, or move it away and add the hosts again"}
}

// unwrapped removes the path that the message of a FileError already has.
func unwrapped(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// change replaces the file by what edit makes of the hosts. One process at a time
// changes it; an error of edit changes nothing.
func (r Registry) change(edit func([]Host) ([]Host, error)) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return &FileError{r.path, unwrapped(err), "set XDG_CONFIG_HOME to another directory"}
	}
	lock, err := os.OpenFile(r.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return &FileError{r.path, unwrapped(err), "set XDG_CONFIG_HOME to another directory"}
	}
	defer lock.Close() // and unlock
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return &FileError{r.path, err, ""}
	}
	list, err := r.read()
	if err != nil {
		return err
	}
	if list, err = edit(list); err != nil {
		return err
	}
	return r.replace(list)
}

func (r Registry) replace(list []Host) error {
	data, err := json.MarshalIndent(file{Hosts: list}, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(r.path), ".hosts-*") // mode 0600
	if err != nil {
		return &FileError{r.path, unwrapped(err), "set XDG_CONFIG_HOME to another directory"}
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), r.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return &FileError{r.path, err, "the file is as it was"}
	}
	return nil
}
