// Package subprocess is the runtime provider for plain child processes, without a
// terminal and without input.
//
// Its invariant: a session runs exactly as long as its process, identified by pid and
// start time, is in the process table; files only record which process that is. A
// small parent, which is gc in another mode, keeps the output and the exit status, so
// every gc process sees the same sessions, and none must stay alive. It never writes
// to a program. It serves bounded work and programs that need no terminal; only
// cmd/gc makes one.
//
// It has no Attach, keys or screen. Nudges are refused, and standard input is empty.
package subprocess

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Options configure a Provider.
type Options struct {
	Dir string // where everything is kept; private to the user

	// Environ is the environment from which sessions inherit variables; nil: this
	// process's.
	Environ   []string
	StopGrace time.Duration // between TERM and KILL; 0 = 5 s
	Limits    driver.Limits
	Report    func(runtime.Step) // of every step of every start; may be nil
}

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	driver.Local // exec, and the process table

	o Options

	starts driver.Starts
}

var (
	_ runtime.Provider            = (*Provider)(nil)
	_ runtime.ExitReporter        = (*Provider)(nil)
	_ runtime.ExecProvider        = (*Provider)(nil)
	_ runtime.ProcessTableScanner = (*Provider)(nil)
)

// DefaultDir returns where the sessions of a city are kept: GC_SUBPROCESS_DIR, else a
// name derived from the city's directory in $XDG_STATE_HOME/gc/subprocess
// (~/.local/state/gc/subprocess). city is an absolute path, "" for sessions without a
// city.
func DefaultDir(getenv func(string) string, city string) (string, error) {
	if dir := getenv("GC_SUBPROCESS_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	state := getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) {
		home := getenv("HOME")
		if !filepath.IsAbs(home) {
			return "", errors.New("neither XDG_STATE_HOME, HOME nor GC_SUBPROCESS_DIR is set")
		}
		state = filepath.Join(home, ".local", "state")
	}
	name := "default"
	if city != "" {
		sum := sha256.Sum256([]byte(city))
		name = hex.EncodeToString(sum[:6])
	}
	return filepath.Join(state, "gc", "subprocess", name), nil
}

// New returns a provider. It creates nothing.
func New(o Options) (*Provider, error) {
	if o.Dir == "" {
		return nil, errors.New("subprocess: Options.Dir is empty")
	}
	var err error
	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, err
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.StopGrace <= 0 {
		o.StopGrace = 5 * time.Second
	}
	p := &Provider{o: o}
	p.Local = driver.NewLocal(driver.LocalSessions{Provider: "subprocess", Grace: o.StopGrace, Box: p.box, Tracked: p.tracked})
	return p, nil
}

// Capabilities implements runtime.Provider.
func (p *Provider) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{
		Activity: true, DurableMeta: true, LastScreen: true, LastWords: true, ProcessTree: true, Exec: true, Ordered: true,
	}
}

// folder returns the directory of a session. Names that differ only in case have
// different directories on every file system.
func (p *Provider) folder(name string) string {
	lower := strings.ToLower(name)
	if lower != name {
		sum := sha256.Sum256([]byte(name))
		lower += "+" + hex.EncodeToString(sum[:6])
	}
	return filepath.Join(p.o.Dir, sessionsDir, lower)
}

// sessionsDir holds one directory per session.
const sessionsDir = "sessions"

// unreachable marks an error of the file system or the process table: nothing is
// known then.
func unreachable(err error) error {
	return fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
}

func gone(err error) bool { return errors.Is(err, runtime.ErrSessionNotFound) }
