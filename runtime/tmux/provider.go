// Package tmux is the runtime provider over a tmux server of its own, tmux 3.0
// and later.
//
// Its invariant: whoever asks much keeps one control-mode connection, so that no
// process is spawned for a query; and "no session" is said only when tmux says
// so or nobody listens at the socket. A tmux that hangs is
// ErrBackendUnreachable. It serves cities whose people want to stay in tmux.
//
// What it cannot do, as Capabilities say or as noted here: activity counts
// whole seconds.
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

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Options configure a Provider.
type Options struct {
	Socket string // path of the server's socket; private to the city
	Binary string // "tmux" of PATH when empty

	// Environ is the environment that sessions inherit the contract's
	// variables from; nil: this process's.
	Environ   []string
	StopGrace time.Duration // between TERM and KILL; 0 = 5 s
	Limits    driver.Limits
	Report    func(runtime.Step) // of every step of every start; may be nil
}

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	driver.Screens // activity and questions, from the text of the screen

	o Options

	starts    driver.Starts
	mu        sync.Mutex
	conn      *control       // nil until enough was asked
	opening   bool           // a connection is under way
	closed    bool           // by Close: no connection is kept any more
	notBefore time.Time      // of the next connection
	pause     time.Duration  // after the next try
	asked     int            // queries made without a connection
	watches   []*watch       // subscriptions to events
	tasks     sync.WaitGroup // connections under way

	input   sync.Map // name → chan struct{} of one token: who has it may type
	unknown sync.Map // targets of dead panes whose status tmux never told
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

// New checks that tmux is there and returns a provider. Nothing is started.
func New(o Options) (*Provider, error) {
	if o.Binary == "" {
		o.Binary = "tmux"
	}
	path, err := exec.LookPath(o.Binary)
	if err != nil {
		return nil, fmt.Errorf("tmux is selected and cannot be found: %w", err)
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

// errNoServer says that nobody listens at the socket.
var errNoServer = errors.New("no tmux server is running")

// serverArgs come before every command of the binary. Any of them may find
// that it is the first and start the server: with our settings in every case.
func (p *Provider) serverArgs(more ...string) []string {
	return append([]string{"-u", "-f", p.settingsFile(), "-S", p.o.Socket}, more...)
}

// environ is what the server itself gets: nothing that sessions could see.
func (p *Provider) environ() []string {
	env := []string{"TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME=/"}
	for _, kv := range p.o.Environ {
		if strings.HasPrefix(kv, "PATH=") {
			env = append(env, kv)
		}
	}
	return env
}

// convert maps tmux's errors to the contract's, here and nowhere else.
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

// pane is what tmux knows of one session.
type pane struct {
	name     string
	target   string // of this incarnation, see [incarnation]
	token    string
	pid      int
	dead     bool
	known    bool // how it died is known
	code     int
	signal   int
	died     time.Time
	activity time.Time
	attached int
	workDir  string
	ready    string // the ready prefix of its start
	mark     string // GC_SESSION_ID of the session's processes
}

// paneFormat ends with the name; the others hold no comma.
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
		activity: seconds(f[6]), attached: number(f[7]), mark: f[8], workDir: decodeText(f[9]), ready: decodeText(f[10]), name: name,
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

// statusLimit is how long a dead pane may be without its status: tmux sees the
// end of the output before it has collected the process. Before 3.3 it never
// tells a signal, which is waited for once.
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
			_, _ = p.query(ctx, "run-shell", "-b", "true") // or it stays unknown
		}
		if err := sleep(ctx, echoStep); err != nil {
			return pane{}, convert(err)
		}
	}
}

// looksUncollected is after how many looks tmux must have missed the signal of
// a child's end, as it does once in some hundred times. Then it collects all
// when the next child ends.
const looksUncollected = 8

// live returns the session of the name when its program runs.
func (p *Provider) live(ctx context.Context, name string) (pane, error) {
	v, err := p.get(ctx, target(name))
	if err == nil && v.dead {
		return v, runtime.ErrSessionNotFound
	}
	return v, err
}
