// Package exec is the runtime provider over a script: one executable that hosts
// sessions by the exec session protocol (docs/exec-protocol.md).
//
// Its invariant: only a well-formed answer counts. A script that hangs, floods,
// vanishes or prints something else is an error that names the script and the
// operation and, for a query, matches runtime.ErrBackendUnreachable: callers must not
// act on it. It serves multiplexers and sandboxes that no Go code here knows; only
// cmd/gc makes one.
package exec

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/turn"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Options configure a Provider.
type Options struct {
	Script string // path, or a bare name to look up in PATH

	// Timeout bounds one call; 0 = 30 s. Start has its caller's context, Attach no
	// limit.
	Timeout time.Duration
	// PeekLimit bounds Peek's output, in bytes; 0 = 64 MiB. Every other answer is
	// limited to 1 MiB.
	PeekLimit int

	Environ []string // of the script; nil: this process's
	Deny    error    // if not nil, the script is never run, and every call fails with this
	Limits  driver.Limits
	Report  func(runtime.Step) // of every step of every start; may be nil
}

const (
	defaultTimeout = 30 * time.Second
	outputLimit    = 1 << 20
	defaultPeek    = 64 << 20
	defaultPoll    = 250 * time.Millisecond // between two readings during a start: each is a process
)

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	driver.Screens // activity and questions, from the text of the screen

	o    Options
	path string // absolute

	starts driver.Starts
	mu     sync.Mutex
	asking chan struct{} // one token: its holder makes the handshake
	shake  *handshake    // nil until the script answered
	// born are the sessions that were seen running, with how often this provider
	// started each.
	born   map[string]uint64
	making map[string]bool // starts under way, by session
	looks  map[string]look // of sessions whose script reports no activity

	receipts atomic.Bool  // the script prints receipts
	spent    atomic.Int64 // CPU time of all calls, ns

	input turn.Queues // of the sessions
}

var (
	_ runtime.Provider         = (*Provider)(nil)
	_ runtime.ExecProvider     = (*Provider)(nil)
	_ runtime.ExitReporter     = (*Provider)(nil)
	_ runtime.IdleWaitProvider = (*Provider)(nil)
	_ runtime.CapabilityAsker  = (*Provider)(nil)
	_ runtime.RelaunchProvider = (*Provider)(nil)
	_ runtime.EventSource      = (*Provider)(nil)
)

// New finds the script and returns a provider without running it. It fails if the
// script is missing or not executable.
func New(o Options) (*Provider, error) {
	path, err := find(o.Script)
	if err != nil {
		return nil, fmt.Errorf("session script %q: %w", o.Script, err)
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.PeekLimit <= 0 {
		o.PeekLimit = defaultPeek
	}
	if o.Limits.Poll <= 0 {
		o.Limits.Poll = defaultPoll
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	// A script that runs gc must not be sent back to itself.
	o.Environ = without(o.Environ, "GC_SESSION")
	p := &Provider{
		o: o, path: path, asking: make(chan struct{}, 1),
		born: map[string]uint64{}, making: map[string]bool{}, looks: map[string]look{},
	}
	p.Screens = driver.NewScreens(p.onScreen, p.lockInput)
	return p, nil
}

// find returns the absolute path of an executable script.
func find(script string) (string, error) {
	if script == "" {
		return "", errors.New("no script is named")
	}
	if !strings.ContainsRune(script, filepath.Separator) {
		found, err := exec.LookPath(script)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return "", err
		}
		return filepath.Abs(found)
	}
	path, err := filepath.Abs(script)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errors.New("no such file")
	case err != nil:
		return "", err
	case info.IsDir():
		return "", errors.New("it is a directory")
	case info.Mode()&0o111 == 0:
		return "", errors.New("it is not executable")
	}
	return path, nil
}

func without(env []string, name string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return out
}

// capabilitiesLimit bounds the first handshake of Capabilities, which has no context.
const capabilitiesLimit = 2 * time.Second

// Capabilities implements runtime.Provider. Until the script has answered it counts
// as one without a handshake.
func (p *Provider) Capabilities() runtime.Capabilities {
	ctx, cancel := context.WithTimeout(context.Background(), capabilitiesLimit)
	defer cancel()
	c, _ := p.AskCapabilities(ctx)
	return c
}

// AskCapabilities implements runtime.CapabilityAsker. A script without a handshake
// has what every script must have.
func (p *Provider) AskCapabilities(ctx context.Context) (runtime.Capabilities, error) {
	c := runtime.Capabilities{Attach: true, Keys: true, DurableMeta: true, ProcessTree: true}
	h, err := p.handshake(ctx)
	if err != nil || !h.spoken {
		return c, err
	}
	c.Attach = h.has(capAttach)
	c.AttachDetection = h.has(capAttachment)
	c.Activity = h.has(capActivity)
	c.Exec = h.has(capExec)
	c.ExactPeek = h.has(capExactPeek)
	c.KeyModes = h.has(capKeyModes)
	c.LastScreen = h.has(capLastScreen)
	c.LastWords = h.has(capLastWords)
	c.Relaunch = h.has(capRelaunch)
	return c, nil
}

// lockInput makes the caller the only one of this provider that types into the
// session; callers take turns in order.
func (p *Provider) lockInput(ctx context.Context, name string) (release func(), err error) {
	release, err = p.input.Enter(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("waiting for earlier input: %w", err)
	}
	return release, nil
}

// checkName checks that a name can be an argument of a script.
func checkName(name string) error {
	if name == "" || name[0] == '-' || strings.ContainsAny(name, "\x00\n") {
		return fmt.Errorf("%w: %q", runtime.ErrBadName, name)
	}
	return nil
}
