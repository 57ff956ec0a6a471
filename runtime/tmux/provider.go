// Package tmux is the runtime provider over its own tmux server, tmux 3.0 and later.
//
// Its invariant: a busy process keeps one control-mode connection, so that queries
// start no process; and it answers "no session" only if tmux says so or no server
// listens at the socket. A tmux that hangs is ErrBackendUnreachable. It never touches
// the user's own tmux. It serves cities whose users want to stay in tmux; only cmd/gc
// makes one.
//
// Activity has a resolution of one second.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/turn"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Options configure a Provider.
type Options struct {
	Socket string // path of the server's socket; private to the city
	Binary string // "tmux" in PATH if empty

	// Environ is the environment from which sessions inherit variables; nil: this
	// process's.
	Environ   []string
	StopGrace time.Duration // between TERM and KILL; 0 = 5 s
	Limits    driver.Limits
	Report    func(runtime.Step) // of every step of every start; may be nil
}

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	driver.Screens // activity and questions, from the text of the screen
	driver.Local   // exec, and the process table

	o Options

	starts    driver.Starts
	mu        sync.Mutex
	conn      *control       // nil until there were enough queries
	opening   bool           // a connection is being made
	closed    bool           // by Close: no new connection
	notBefore time.Time      // earliest time of the next connection
	pause     time.Duration  // after the next attempt
	asked     int            // queries made without a connection
	watches   []*watch       // subscriptions to events
	tasks     sync.WaitGroup // connections being made

	input   turn.Queues // of the sessions
	unknown sync.Map    // targets of dead panes whose status tmux never reported
}

var (
	_ runtime.Provider                = (*Provider)(nil)
	_ runtime.ExitReporter            = (*Provider)(nil)
	_ runtime.EventSource             = (*Provider)(nil)
	_ runtime.RelaunchProvider        = (*Provider)(nil)
	_ runtime.IdleWaitProvider        = (*Provider)(nil)
	_ runtime.CursorLineProvider      = (*Provider)(nil)
	_ runtime.ExecProvider            = (*Provider)(nil)
	_ runtime.ProcessTableScanner     = (*Provider)(nil)
	_ runtime.ImmediateNudgeProvider  = (*Provider)(nil)
	_ runtime.ServerLifecycleProvider = (*Provider)(nil)
)

// New finds tmux and returns a provider. It starts nothing.
func New(o Options) (*Provider, error) {
	if o.Binary == "" {
		o.Binary = "tmux"
	}
	path, err := exec.LookPath(o.Binary)
	if err != nil {
		return nil, fmt.Errorf("tmux is selected but cannot be found: %w", err)
	}
	o.Binary = path
	if o.Socket, err = filepath.Abs(o.Socket); err != nil {
		return nil, err
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.StopGrace <= 0 {
		o.StopGrace = 5 * time.Second
	}
	p := &Provider{o: o, pause: firstPause}
	p.Screens = driver.NewScreens(p.onScreen, p.lockInput)
	p.Local = driver.NewLocal(driver.LocalSessions{Provider: "tmux", Grace: o.StopGrace, Box: p.box, Tracked: p.tracked})
	return p, nil
}

// Installed reports whether tmux is in PATH.
func Installed() bool {
	_, err := exec.LookPath("tmux")
	return err == nil
}

// Capabilities implements runtime.Provider.
func (p *Provider) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{
		Attach: true, AttachDetection: true, ExactPeek: true, Keys: true,
		DurableMeta: true, LastScreen: true, ProcessTree: true, KeyModes: true, Exec: true, Relaunch: true, Ordered: true,
	}
}

// errNoServer means that no server listens at the socket.
var errNoServer = errors.New("no tmux server is running")

// serverArgs are the arguments before every command. Any command may be the one that
// starts the server, which must read our settings.
func (p *Provider) serverArgs(more ...string) []string {
	return append([]string{"-u", "-f", p.settingsFile(), "-S", p.o.Socket}, more...)
}

// environ is the environment of the server itself; sessions do not see it.
func (p *Provider) environ() []string {
	env := []string{"TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME=/"}
	for _, kv := range p.o.Environ {
		if strings.HasPrefix(kv, "PATH=") {
			env = append(env, kv)
		}
	}
	return env
}

// convert maps tmux's errors to the contract's. Nothing else does.
func convert(err error) error {
	var refused *commandError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errNoServer):
		return fmt.Errorf("%w: %w", runtime.ErrSessionNotFound, err)
	case errors.As(err, &refused):
		m := refused.message
		switch {
		case strings.HasPrefix(m, "can't find "), strings.HasPrefix(m, "no such session"), strings.HasPrefix(m, "no current "):
			return fmt.Errorf("%w: %w", runtime.ErrSessionNotFound, err)
		case refused.duplicate():
			return fmt.Errorf("%w: %w", runtime.ErrSessionExists, err)
		}
		return err
	case errors.Is(err, runtime.ErrSessionNotFound), errors.Is(err, runtime.ErrSessionExists):
		return err
	default:
		return fmt.Errorf("%w: %w", runtime.ErrBackendUnreachable, err)
	}
}

func gone(err error) bool { return errors.Is(err, runtime.ErrSessionNotFound) }

// pane is what tmux knows about one session.
type pane struct {
	name     string
	target   string // of this incarnation, see [incarnation]
	token    string
	pid      int
	dead     bool
	known    bool // its exit status is known
	code     int
	signal   int
	died     time.Time
	activity time.Time
	attached int
	workDir  string
	ready    string // the ready prefix of its start
	marker   string // GC_SESSION_ID of the session's processes
}

// paneFormat ends with the name; the other fields hold no comma.
const paneFormat = "#{window_name},#{pane_pid},#{pane_dead},#{pane_dead_status},#{pane_dead_signal},#{pane_dead_time}," +
	"#{window_activity},#{session_attached},#{@gc_mark},#{@gc_workdir},#{@gc_ready},#{session_name}"

func parsePane(line string) (pane, bool) {
	f := strings.SplitN(line, ",", 12)
	if len(f) != 12 {
		return pane{}, false
	}
	name, ok := decodeName(f[11])
	return pane{
		target: incarnation(name, f[0]), token: f[0], pid: number(f[1]), dead: f[2] == "1", known: f[3] != "" || f[4] != "", code: number(f[3]), signal: number(f[4]), died: seconds(f[5]),
		activity: seconds(f[6]), attached: number(f[7]), marker: f[8], workDir: decodeText(f[9]), ready: decodeText(f[10]), name: name,
	}, ok
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func seconds(s string) time.Time {
	if n := number(s); n > 0 {
		return time.Unix(int64(n), 0)
	}
	return time.Time{}
}

// statusLimit is how long a dead pane may lack its status: tmux sees the end of the
// output before it has waited for the process. Before 3.3 it never reports a signal;
// that is waited for once.
const statusLimit = 3 * time.Second

// get returns the session that a target names.
func (p *Provider) get(ctx context.Context, target string) (pane, error) {
	begin := time.Now()
	for look := 1; ; look++ {
		lines, err := p.query(ctx, "list-panes", "-t", target, "-F", paneFormat)
		if err != nil {
			return pane{}, err
		}
		if len(lines) == 0 {
			return pane{}, runtime.ErrSessionNotFound
		}
		v, ok := parsePane(lines[0])
		if !ok {
			return pane{}, fmt.Errorf("%w: tmux answered %q", runtime.ErrBackendUnreachable, lines[0])
		}
		if !v.dead || v.known {
			return v, nil
		}
		if _, never := p.unknown.Load(v.target); never || time.Since(begin) > statusLimit {
			p.unknown.Store(v.target, true)
			return v, nil
		}
		if look%looksUncollected == 0 {
			_, _ = p.query(ctx, "run-shell", "-b", "true") // its end makes tmux wait for all children
		}
		if err := clock.Sleep(ctx, echoStep); err != nil {
			return pane{}, convert(err)
		}
	}
}

// looksUncollected is the number of queries after which tmux must have missed a
// SIGCHLD, which happens about one time in a hundred. At the next SIGCHLD it
// waits for all children.
const looksUncollected = 8

// live returns the session of the name if its program runs.
func (p *Provider) live(ctx context.Context, name string) (pane, error) {
	v, err := p.get(ctx, target(name))
	if err == nil && v.dead {
		return v, runtime.ErrSessionNotFound
	}
	return v, err
}
