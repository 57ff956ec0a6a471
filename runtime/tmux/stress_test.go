package tmux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimetest"
	"gascity.dev/gc/runtime/tmux"
)

// stressTime is how long the stress test runs: GC_STRESS, else a moment.
func stressTime(t *testing.T) time.Duration {
	s := os.Getenv("GC_STRESS")
	if s == "" {
		return 3 * time.Second
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// stress is a socket that many providers use at once, as processes of many users
// would: they share only the socket and its locks.
type stress struct {
	backend
	until   time.Time
	enough  func() bool
	t       *testing.T
	shared  atomic.Int32 // sessions of sharedName: never two
	wins    atomic.Int32
	tearing atomic.Int32 // teardowns that are running
	torn    atomic.Int32 // and that have ended
	attachs atomic.Int32
	conns   atomic.Int32
	servers sync.Map // pids of the servers that were seen
}

// worker is one of the providers.
type worker struct {
	*stress
	rnd  *rand.Rand
	name string
	p    *tmux.Provider
}

// Many workers do everything there is to do.
func TestManyProvidersOfOneSocket(t *testing.T) {
	s := newStress(t)
	s.run(4, (*worker).round, func() bool { return s.wins.Load() > 0 && s.attachs.Load() > 0 && s.conns.Load() > 0 })
	t.Logf("%d wins of the shared name, %d attaches, %d connections", s.wins.Load(), s.attachs.Load(), s.conns.Load())
}

// A few workers start and end sessions, and with them the server, under each other.
func TestServersThatComeAndGo(t *testing.T) {
	s := newStress(t)
	servers := func() (n int) {
		s.servers.Range(func(any, any) bool { n++; return true })
		return n
	}
	s.run(2, (*worker).brief, func() bool { return servers() > 2 })
	t.Logf("%d servers", servers())
}

func newStress(t *testing.T) *stress {
	return &stress{backend: newBackend(t), t: t, until: time.Now().Add(stressTime(t))}
}

// run lets n workers do rounds until the time is up and enough was tried, and then
// checks for leftovers.
func (s *stress) run(n int, round func(*worker, context.Context) error, enough func() bool) {
	s.t.Helper()
	s.enough = enough
	seed := uint64(time.Now().UnixNano())
	s.t.Logf("seed %d", seed)
	var tasks sync.WaitGroup
	for i := range n {
		w := &worker{stress: s, rnd: rand.New(rand.NewPCG(seed, uint64(i))), name: fmt.Sprintf("own.%d", i)}
		tasks.Go(func() { w.work(round) })
	}
	tasks.Wait()
	if !enough() {
		s.t.Error("not everything was tried")
	}
	s.nothingLeft()
}

// over reports whether workers stop: not before enough was tried, and at most a
// minute later.
func (s *stress) over() bool {
	return s.t.Failed() || time.Now().After(s.until) && (s.enough() || time.Since(s.until) > time.Minute)
}

func (w *worker) work(round func(*worker, context.Context) error) {
	for !w.over() {
		p, err := tmux.New(tmux.Options{Socket: w.socket, StopGrace: 500 * time.Millisecond})
		if err != nil {
			w.t.Error(err)
			return
		}
		w.p = p
		for range 1 + w.rnd.IntN(4) {
			ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
			err := round(w, ctx)
			cancel()
			if err != nil {
				w.t.Errorf("%s: %v", w.name, err)
				break
			}
		}
		if p.Connected() {
			w.conns.Add(1)
		}
		p.Close()
	}
}

// round does one random thing.
func (w *worker) round(ctx context.Context) error {
	switch w.rnd.IntN(6) {
	case 0, 1:
		return w.sharedName(ctx)
	case 2:
		return w.diesAtOnce(ctx)
	case 3:
		return w.lookAround(ctx)
	}
	return w.life(ctx)
}

// brief is a session that ends almost at once.
func (w *worker) brief(ctx context.Context) error {
	if w.rnd.IntN(4) == 0 {
		return w.sharedName(ctx)
	}
	if err := w.start(ctx, w.name, "exec cat", 70, 20); err != nil {
		return err
	}
	if err := w.looksRight(ctx, 70, 20); err != nil {
		return err
	}
	return w.p.Stop(ctx, w.name)
}

// sharedName is a name that all workers start; one has it at a time.
func (w *worker) sharedName(ctx context.Context) error {
	err := w.start(ctx, "shared", "exec cat", 120, 40)
	if errors.Is(err, runtime.ErrSessionExists) {
		return nil
	}
	if err != nil {
		return err
	}
	w.wins.Add(1)
	if n := w.shared.Add(1); n != 1 {
		return fmt.Errorf("%d have the shared name", n)
	}
	err = w.running(ctx, "shared", true)
	w.shared.Add(-1)
	return errors.Join(err, w.p.Stop(ctx, "shared"))
}

// diesAtOnce leaves an ended session, which the next start replaces.
func (w *worker) diesAtOnce(ctx context.Context) error {
	torn := w.torn.Load()
	if err := w.start(ctx, w.name, "exit 3", 80, 24); err != nil {
		return err
	}
	for {
		e, err := w.p.LastExit(ctx, w.name)
		if errors.Is(err, runtime.ErrSessionNotFound) && (w.tearing.Load() > 0 || w.torn.Load() > torn) {
			return nil // a teardown removes ended sessions
		}
		if err != nil {
			return err
		}
		if e != nil && e.Code == 3 {
			break
		}
		if e != nil {
			return fmt.Errorf("exit %+v", e)
		}
	}
	if w.rnd.IntN(2) == 0 {
		return w.p.Stop(ctx, w.name)
	}
	return w.life(ctx)
}

// lookAround queries what may or may not exist.
func (w *worker) lookAround(ctx context.Context) error {
	for range 2 * tmux.FewQueries {
		if _, err := w.p.ListRunning(ctx, ""); err != nil {
			return err
		}
		if _, err := w.p.IsRunning(ctx, "shared"); err != nil {
			return err
		}
	}
	w.tearing.Add(1)
	err := w.p.TeardownServer(ctx)
	w.torn.Add(1)
	w.tearing.Add(-1)
	return err
}

// life is a session of the worker's own from its start to its stop.
func (w *worker) life(ctx context.Context) error {
	cols, rows := 60+w.rnd.IntN(90), 15+w.rnd.IntN(40)
	if err := w.start(ctx, w.name, "stty size; exec cat", cols, rows); err != nil {
		return err
	}
	if err := w.looksRight(ctx, cols, rows); err != nil {
		return err
	}
	word := fmt.Sprintf("word-%d", w.rnd.Uint32())
	if err := w.p.SetMeta(ctx, w.name, "k", word); err != nil {
		return err
	}
	// On a busy machine the program may be too slow to be seen yet.
	r, err := w.p.Nudge(ctx, w.name, runtime.TextContent(word))
	if err != nil || r.State != runtime.Submitted && r.State != runtime.Unverified {
		return fmt.Errorf("nudge: %+v, %v", r, err)
	}
	if err := w.shows(ctx, fmt.Sprintf("%d %d", rows, cols), word); err != nil {
		return err
	}
	if v, err := w.p.GetMeta(ctx, w.name, "k"); err != nil || v != word {
		return fmt.Errorf("meta %q, want %q; %v", v, word, err)
	}
	if w.rnd.IntN(3) == 0 {
		if err := w.visit(ctx); err != nil {
			return err
		}
	}
	if err := w.running(ctx, w.name, true); err != nil {
		return err
	}
	if err := w.p.Stop(ctx, w.name); err != nil {
		return err
	}
	return w.running(ctx, w.name, false)
}

// visit attaches a terminal, which leaves with the detach keys.
func (w *worker) visit(ctx context.Context) error {
	w.attachs.Add(1)
	in, keys := io.Pipe()
	defer in.Close()
	var out runtimetest.ScreenBuffer
	done := make(chan error, 1)
	go func() {
		done <- w.p.Attach(ctx, w.name, runtime.Terminal{
			In: in, Out: &out, Resized: make(chan struct{}),
			Size: func() (int, int, error) { return 120, 40, nil },
		})
	}()
	for !strings.Contains(out.String(), "word-") {
		select {
		case err := <-done:
			return fmt.Errorf("attach ended: %v; %q", err, out.String())
		case <-ctx.Done():
			return fmt.Errorf("attached, and saw %q", out.String())
		case <-time.After(time.Millisecond):
		}
	}
	if _, err := io.WriteString(keys, "\x02d"); err != nil {
		return err
	}
	if err := <-done; err != nil || ctx.Err() != nil {
		return fmt.Errorf("detach: %v, %v", err, ctx.Err())
	}
	return nil
}

func (w *worker) start(ctx context.Context, name, command string, cols, rows int) error {
	return w.p.Start(ctx, name, runtime.Config{
		WorkDir: filepath.Dir(w.socket), Command: command, Cols: cols, Rows: rows,
		Env: map[string]string{"GC_CITY": "oz", "GC_AGENT": name},
	})
}

// looksRight asks tmux itself for values from our settings.
func (w *worker) looksRight(ctx context.Context, cols, rows int) error {
	const format = "#{window_width} #{window_height} #{status-interval} #{remain-on-exit} #{mouse} #{T:status-left}|#{pid}"
	target := "=" + strings.ReplaceAll(w.name, ".", "+2e") + ":"
	out, err := exec.CommandContext(ctx, "tmux", "-S", w.socket, "display-message", "-p", "-t", target, format).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ask tmux: %w: %s", err, out)
	}
	got, pid, _ := strings.Cut(strings.TrimSpace(string(out)), "|")
	w.servers.Store(pid, true)
	if want := fmt.Sprintf("%d %d 0 on 0  oz %s ", cols, rows, w.name); got != want && got != strings.ReplaceAll(want, " on ", " 1 ") {
		return fmt.Errorf("the session is %q, want %q", got, want)
	}
	return nil
}

func (w *worker) running(ctx context.Context, name string, want bool) error {
	ok, err := w.p.IsRunning(ctx, name)
	if err != nil || ok != want {
		return fmt.Errorf("%s is running: %v, want %v; %v", name, ok, want, err)
	}
	return nil
}

// shows waits for texts on the screen.
func (w *worker) shows(ctx context.Context, texts ...string) error {
	for {
		screen, err := w.p.Peek(ctx, w.name, 0)
		if err != nil {
			return err
		}
		missing := ""
		for _, s := range texts {
			if !strings.Contains(screen, s) {
				missing = s
			}
		}
		if missing == "" {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("no %q in %q", missing, screen)
		}
	}
}

// nothingLeft waits until no process knows the socket, and checks for files.
func (s *stress) nothingLeft() {
	s.t.Helper()
	var left []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if left = s.processes(); len(left) == 0 {
			break
		}
	}
	for _, l := range left {
		s.t.Errorf("left behind: %s", l)
	}
	for _, pattern := range []string{"launch-*", "command-*", "answer-*", "settings-*"} {
		files, err := filepath.Glob(filepath.Join(filepath.Dir(s.socket), pattern))
		if err != nil || len(files) > 0 {
			s.t.Errorf("left behind: %v, %v", files, err)
		}
	}
}

func (s *stress) processes() (list []string) {
	procs, err := proctree.Table()
	if err != nil {
		s.t.Fatal(err)
	}
	for _, p := range procs {
		argv, err := proctree.Cmdline(p.PID)
		if line := strings.Join(argv, " "); err == nil && strings.Contains(line, s.socket) {
			list = append(list, fmt.Sprintf("%d %s", p.PID, line))
		}
	}
	return list
}
