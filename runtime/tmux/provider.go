// Package tmux is the runtime provider over a tmux server of its own, tmux 3.0
// and later.
//
// Its invariant: one control-mode connection carries every query, so that no
// process is spawned for one; and "no session" is said only when tmux says so
// or nobody listens at the socket. A tmux that hangs is ErrBackendUnreachable.
// It serves cities whose people want to stay in tmux.
//
// What it cannot do, as Capabilities say or as noted here: activity counts
// whole seconds; nothing is pushed, so that nobody can subscribe to events.
package tmux

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"gascity.dev/gc/runtime"
)

// Options configure a Provider.
type Options struct {
	Socket string // path of the server's socket; private to the city
	Binary string // "tmux" of PATH when empty

	// Environ is the environment that sessions inherit the contract's
	// variables from; nil: this process's.
	Environ   []string
	StopGrace time.Duration // between TERM and KILL; 0 = 5 s
	Limits    runtime.Limits
	Report    func(runtime.Step) // of every step of every start; may be nil
}

// Provider implements runtime.Provider. Safe for concurrent use.
type Provider struct {
	o Options

	mu       sync.Mutex
	conn     *control
	opening  chan struct{}   // closed when the connection under way is there
	starting map[string]bool // names whose Start is under way here

	input sync.Map // name → chan struct{} of one token: who has it may type
}

var (
	_ runtime.Provider                = (*Provider)(nil)
	_ runtime.ExitReporter            = (*Provider)(nil)
	_ runtime.RelaunchProvider        = (*Provider)(nil)
	_ runtime.DialogProvider          = (*Provider)(nil)
	_ runtime.IdleWaitProvider        = (*Provider)(nil)
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
	return &Provider{o: o, starting: map[string]bool{}}, nil
}

// Capabilities implements runtime.Provider.
func (p *Provider) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{
		Attach: true, AttachDetection: true, ExactPeek: true, Keys: true,
		DurableMeta: true, LastScreen: true, ProcessTree: true, Exec: true, Relaunch: true,
	}
}

// Close ends the connection; the server and its sessions go on.
func (p *Provider) Close() error {
	p.mu.Lock()
	c := p.conn
	p.conn = nil
	p.mu.Unlock()
	if c != nil {
		c.close()
	}
	return nil
}

// errNoServer says that nobody listens at the socket.
var errNoServer = errors.New("no tmux server is running")

// holder is the session that keeps the control client's place. "+" is in no
// name of ours.
const holder = "+gc"

// serverArgs come before every command of the binary.
func (p *Provider) serverArgs(more ...string) []string {
	return append([]string{"-u", "-f", "/dev/null", "-S", p.o.Socket}, more...)
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

// listening reports whether somebody listens at the socket.
func (p *Provider) listening(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", p.o.Socket)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return errNoServer
	}
	return err
}

// connect returns the connection; start also brings a server up.
func (p *Provider) connect(ctx context.Context, start bool) (*control, error) {
	for {
		p.mu.Lock()
		if c := p.conn; c != nil {
			p.mu.Unlock()
			return c, nil
		}
		wait := p.opening
		if wait == nil {
			p.opening = make(chan struct{})
			p.mu.Unlock()
			break
		}
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	c, err := p.open(ctx, start)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.opening)
	p.opening = nil
	if err != nil {
		return nil, err
	}
	p.conn = c
	return c, nil
}

func (p *Provider) open(ctx context.Context, start bool) (*control, error) {
	err := p.listening(ctx)
	if err != nil && !(start && errors.Is(err, errNoServer)) {
		return nil, err
	}
	if start {
		if err := os.MkdirAll(filepath.Dir(p.o.Socket), 0o700); err != nil {
			return nil, err
		}
	}
	// -A attaches when it is there. The program of the holder only waits.
	args := p.serverArgs("-C", "new-session", "-A", "-s", holder, "-x", "80", "-y", "24", "-c", "/", "exec cat >/dev/null")
	c, err := openControl(ctx, p.o.Binary, p.environ(), args...)
	if err != nil {
		return nil, err
	}
	if err := p.configure(ctx, c); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// settings are the server's options. Those that an older tmux does not know
// are left out.
var settings = [][]string{
	{"set-option", "-s", "exit-empty", "off"},
	{"set-option", "-s", "escape-time", "20"},
	{"set-option", "-g", "default-terminal", "screen-256color"},
	{"set-option", "-g", "mouse", "off"},
	{"set-option", "-g", "update-environment", ""},
	{"set-option", "-g", "prefix", "C-b"},
	{"set-option", "-g", "status-interval", "0"},
	{"set-option", "-g", "status-left", " #{@gc_city} #{@gc_agent} "},
	{"set-option", "-g", "status-left-length", "120"},
	{"set-option", "-g", "status-right", ""},
	{"set-option", "-g", "status-style", "default"},
	{"set-option", "-g", "window-status-format", ""},
	{"set-option", "-g", "window-status-current-format", ""},
	{"set-option", "-g", "destroy-unattached", "off"},
	{"set-option", "-wg", "remain-on-exit", "on"},
	{"set-option", "-wg", "remain-on-exit-format", ""},
	{"set-option", "-wg", "monitor-activity", "off"},
	{"set-option", "-wg", "monitor-bell", "off"},
	{"set-option", "-wg", "allow-rename", "off"},
	{"set-option", "-wg", "automatic-rename", "off"},
	{"set-option", "-wg", "aggressive-resize", "off"},
	{"unbind-key", "-a", "-T", "root"},
	{"unbind-key", "-a", "-T", "prefix"},
	{"bind-key", "-T", "prefix", "d", "detach-client"},
	{"bind-key", "-T", "prefix", "C-b", "send-prefix"},
}

func (p *Provider) configure(ctx context.Context, c *control) error {
	for _, words := range settings {
		_, err := c.run(ctx, words...)
		var refused *commandError
		if err != nil && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// drop forgets a connection that was lost.
func (p *Provider) drop(c *control) {
	p.mu.Lock()
	if p.conn == c {
		p.conn = nil
	}
	p.mu.Unlock()
	c.close()
}

// query runs one command that may be repeated safely.
func (p *Provider) query(ctx context.Context, words ...string) ([]string, error) {
	var err error
	for range tries {
		var c *control
		if c, err = p.connect(ctx, false); err == nil {
			var lines []string
			lines, err = c.run(ctx, words...)
			if !errors.Is(err, errLost) {
				return lines, convert(err)
			}
			p.drop(c)
		}
		if !errors.Is(err, errLost) {
			return nil, convert(err)
		}
		// A server that is ending still takes connections for a moment.
		if serr := sleep(ctx, lostPause); serr != nil {
			return nil, convert(errors.Join(err, serr))
		}
	}
	return nil, convert(err)
}

// How often, and how far apart, a query is made while its server goes away.
const (
	tries     = 5
	lostPause = 20 * time.Millisecond
)

// once runs one command that is never repeated.
func (p *Provider) once(ctx context.Context, words ...string) ([]string, error) {
	c, err := p.connect(ctx, false)
	if err != nil {
		return nil, convert(err)
	}
	lines, err := c.run(ctx, words...)
	if errors.Is(err, errLost) {
		p.drop(c)
	}
	return lines, convert(err)
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
		case strings.HasPrefix(m, "duplicate session"):
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
	id       string // of the session, "$3": one incarnation
	name     string
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
const paneFormat = "#{session_id},#{pane_pid},#{pane_dead},#{pane_dead_status},#{pane_dead_signal},#{pane_dead_time}," +
	"#{window_activity},#{session_attached},#{@gc_mark},#{@gc_workdir},#{@gc_ready},#{session_name}"

func parsePane(line string) (pane, bool) {
	f := strings.SplitN(line, ",", 12)
	if len(f) != 12 {
		return pane{}, false
	}
	name, ok := decodeName(f[11])
	return pane{
		id: f[0], pid: number(f[1]), dead: f[2] == "1", known: f[3] != "" || f[4] != "", code: number(f[3]), signal: number(f[4]), died: seconds(f[5]),
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
// tells a signal.
const statusLimit = 500 * time.Millisecond

// get returns the session that a target names.
func (p *Provider) get(ctx context.Context, target string) (pane, error) {
	begin := time.Now()
	for {
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
		if !v.dead || v.known || time.Since(begin) > statusLimit {
			return v, nil
		}
		if err := sleep(ctx, echoStep); err != nil {
			return pane{}, convert(err)
		}
	}
}

// live returns the session of the name when its program runs.
func (p *Provider) live(ctx context.Context, name string) (pane, error) {
	v, err := p.get(ctx, target(name))
	if err == nil && v.dead {
		return v, runtime.ErrSessionNotFound
	}
	return v, err
}
