package tmuxshim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gascity.dev/gc/internal/tmuxshim/world"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

// Version is the tmux whose behaviour this is.
const Version = "3.3a"

// Mux is what the commands need of the multiplexer; *client.Client has it.
type Mux interface {
	Create(ctx context.Context, r api.CreateRequest) (api.SessionInfo, error)
	List(ctx context.Context, prefix string, all bool) ([]api.SessionInfo, error)
	Kill(ctx context.Context, name string, grace time.Duration) error
	Signal(ctx context.Context, name, sig string) error
	Keys(ctx context.Context, name string, keys []string, literal bool) error
	Paste(ctx context.Context, name string, data []byte) error
	Peek(ctx context.Context, r api.PeekRequest) (api.PeekResult, error)
	Resize(ctx context.Context, name string, cols, rows int) error
	ClearHistory(ctx context.Context, name string) error
}

// Setup is where the commands run.
type Setup struct {
	In       io.Reader
	Out, Err io.Writer
	Width    func(text string) int                                    // how many columns it takes
	State    string                                                   // directory of the multiplexer's state
	Dial     func(ctx context.Context, start bool) (Mux, error)       // start: start a server if there is none
	Attach   func(ctx context.Context, session string, ro bool) error // shows a session of the multiplexer on the terminal
}

// server is the server that a command line is about: what its commands share.
type server struct {
	Setup
	socket string
	store  *world.Store
	mux    Mux
	live   map[string]api.SessionInfo   // by name; nil: not read yet
	screen func(name string) *vt.Screen // what a session shows; nil if it cannot be read
}

// Run executes a tmux command line without its first word, and returns the exit status.
func Run(ctx context.Context, argv []string, setup Setup) int {
	s := &server{Setup: setup}
	s.screen = func(name string) *vt.Screen {
		if s.mux == nil {
			return nil
		}
		r, err := s.mux.Peek(ctx, api.PeekRequest{Name: name, Screen: true, Format: api.FormatJSON})
		if err != nil {
			return nil
		}
		return r.Screen
	}
	rest, done, err := s.global(argv)
	if err == nil && !done {
		if len(rest) == 0 {
			rest = []string{"new-session"}
		}
		err = s.runAll(ctx, sequence(rest), "")
	}
	return s.report(err)
}

// report writes an error as tmux does, and returns the exit status.
func (s *server) report(err error) int {
	var status exitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	}
	fmt.Fprintln(s.Err, clean(err.Error()))
	return 1
}

// exitStatus ends a command line without a message.
type exitStatus int

func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

var errUsage = errors.New("usage: tmux [-2CDlNuvV] [-c shell-command] [-f file] [-L socket-name]\n            [-S socket-path] [-T features] [command [flags]]")

// global reads the flags before the first command.
func (s *server) global(argv []string) (rest []string, done bool, err error) {
	a, err := parse(&command{name: "tmux", spec: "2c:CDdf:lL:NqS:T:uUvV", most: -1}, argv)
	if err != nil {
		_, letter, _ := strings.Cut(err.Error(), "-")
		return nil, false, fmt.Errorf("tmux: unknown option -- %.1s\n%w", letter, errUsage)
	}
	if a.has('V') {
		fmt.Fprintf(s.Out, "tmux %s\n", Version)
		return nil, true, nil
	}
	if a.has('C') {
		return nil, false, errors.New("control mode is not there: see docs/tmux-shim.md")
	}
	switch {
	case a.has('S'):
		s.socket = a.value('S')
	case a.has('L'):
		s.socket = socketPath(a.value('L'))
	default:
		s.socket, _, _ = strings.Cut(os.Getenv("TMUX"), ",")
		if s.socket == "" {
			s.socket = socketPath("default")
		}
	}
	s.store = world.Open(s.State, s.socket)
	return a.rest, false, nil
}

// socketPath is where tmux has the socket of a name.
func socketPath(name string) string {
	dir := os.Getenv("TMUX_TMPDIR")
	if dir == "" {
		dir = "/tmp"
	}
	return filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), name)
}

// line is the words of a command, and where a file has them; 0 if in none.
type line struct {
	words []string
	n     int
}

// runAll executes commands until one fails; none, if one cannot be parsed. The errors of
// a file's commands begin with where they are.
func (s *server) runAll(ctx context.Context, all []line, file string) error {
	calls := make([]*call, 0, len(all))
	for _, l := range all {
		c, err := s.prepare(l.words)
		if err != nil && file != "" {
			return fmt.Errorf("%s:%d: %w", file, l.n, err)
		}
		if err != nil {
			return err
		}
		calls = append(calls, c)
	}
	for _, c := range calls {
		if !c.starts {
			if err := s.running(ctx); err != nil {
				return err
			}
		}
		if err := c.run(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) prepare(words []string) (*call, error) {
	c, err := find(words[0])
	if err != nil {
		return nil, err
	}
	a, err := parse(c, words[1:])
	return &call{server: s, command: c, arguments: a}, err
}

// running fails, as tmux does, if the server has no session.
func (s *server) running(ctx context.Context) error {
	w, err := s.world(ctx)
	if err != nil {
		return err
	}
	if len(w.Sessions) == 0 {
		return fmt.Errorf("no server running on %s", s.socket)
	}
	return nil
}

// connect returns the multiplexer; nil if it does not run.
func (s *server) connect(ctx context.Context, start bool) (Mux, error) {
	if s.mux != nil {
		return s.mux, nil
	}
	m, err := s.Dial(ctx, start)
	if !start && errors.Is(err, api.ErrNoServer) {
		return nil, nil
	}
	s.mux = m
	return m, err
}

// prefix begins the names of this server's sessions of the multiplexer.
func (s *server) prefix() string { return "tmux-" + world.Key(s.socket) + "-" }

// sessions reads the multiplexer's sessions that belong to this server.
func (s *server) sessions(ctx context.Context) (map[string]api.SessionInfo, error) {
	if s.live != nil {
		return s.live, nil
	}
	m, err := s.connect(ctx, false)
	if err != nil {
		return nil, err
	}
	live := map[string]api.SessionInfo{}
	if m != nil {
		all, err := m.List(ctx, s.prefix(), true)
		if err != nil {
			return nil, err
		}
		for _, info := range all {
			live[info.Name] = info
		}
	}
	s.live = live
	return live, nil
}

// world is the record without the panes that have ended.
func (s *server) world(ctx context.Context) (*world.World, error) {
	w, err := s.store.Load()
	if err != nil {
		return nil, err
	}
	live, err := s.sessions(ctx)
	if err != nil {
		return nil, err
	}
	w.Keep(func(p *world.Pane) bool { return runs(live, p) })
	return w, nil
}

func runs(live map[string]api.SessionInfo, p *world.Pane) bool {
	info, ok := live[p.Mux]
	return ok && info.State == api.StateRunning
}

// change changes the record, and then forgets sessions of the multiplexer that have ended.
func (s *server) change(ctx context.Context, f func(*world.World) error) error {
	return s.store.Update(func(w *world.World) error {
		s.live = nil
		live, err := s.sessions(ctx)
		if err != nil {
			return err
		}
		gone := w.Keep(func(p *world.Pane) bool { return runs(live, p) })
		if err := f(w); err != nil {
			return err
		}
		for _, p := range gone {
			if _, ok := live[p.Mux]; ok {
				_ = s.mux.Kill(ctx, p.Mux, 0) // it has ended; only its screen is kept
			}
		}
		s.live = nil
		return nil
	})
}

// clean removes what a terminal would obey.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
			return '_'
		}
		return r
	}, text)
}
