package far_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
)

// TestMain lets the test binary also be the keeper and the server of a mux.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	goleak.VerifyTestMain(m)
}

// machine is a Server for one test, with a home and a mux of its own.
type machine struct {
	*far.Client
	server  *far.Server
	session *many.Session
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	dir := t.TempDir()
	m := &machine{server: &far.Server{
		Paths:   api.Paths{Dir: dir + "/s.d", Socket: dir + "/s"},
		Version: "1.2.3",
		Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "FAR=yes", "LANG=C"},
	}}
	near, there := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- many.Serve(context.Background(), there, m.server.Hello(), m.server.Handle) }()
	var err error
	if m.session, err = many.Open(t.Context(), near, many.Hello{}, many.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m.session.Close()
		<-served
	})
	m.Client = far.NewClient("ssh://there", m.session)
	return m
}

func (m *machine) home() string { return filepath.Dir(m.server.Paths.Dir) }

func TestRun(t *testing.T) {
	m := newMachine(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cmd      spawn.Command
		code     int
		out, err string
	}{
		"streams and status": {spawn.Command{Line: "echo out; echo err >&2; exit 7"}, 7, "out\n", "err\n"},
		"a signal":           {spawn.Command{Line: "kill -TERM $$"}, 128 + 15, "", ""},
		"input to its end":   {spawn.Command{Line: "cat; echo end", Stdin: strings.NewReader("in\n")}, 0, "in\nend\n", ""},
		"no input":           {spawn.Command{Line: "cat; echo end"}, 0, "end\n", ""},
		"unread input":       {spawn.Command{Line: "echo end", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}, 0, "end\n", ""},
		"its environment":    {spawn.Command{Line: "echo $FAR $MORE", Env: []string{"MORE=more"}}, 0, "yes more\n", ""},
		"only this one":      {spawn.Command{Argv: []string{"env"}, Env: []string{"PATH=/usr/bin:/bin", "BYTES=\xff"}}, 0, "PATH=/usr/bin:/bin\nBYTES=\xff\n", ""},
		"directory":          {spawn.Command{Line: "pwd", Dir: dir}, 0, dir + "\n", ""},
		"home":               {spawn.Command{Argv: []string{"/bin/sh", "-c", "pwd -P"}}, 0, "", ""},
		"much output":        {spawn.Command{Line: "head -c 300000 /dev/zero | tr '\\0' x"}, 0, strings.Repeat("x", 300000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errs bytes.Buffer
			c.cmd.Stdout, c.cmd.Stderr = &out, &errs
			code, err := m.Run(t.Context(), c.cmd)
			if name == "home" {
				home, _ := filepath.EvalSymlinks(m.home())
				c.out = home + "\n"
			}
			if err != nil || code != c.code || out.String() != c.out || errs.String() != c.err {
				t.Errorf("%d, %v, %.100q, %.100q", code, err, out.String(), errs.String())
			}
		})
	}
	_, err = m.Run(t.Context(), spawn.Command{Argv: []string{"no-such-program"}, Env: []string{"PATH=/usr/bin"}})
	if !errors.Is(err, exec.ErrNotFound) || errors.Is(err, api.ErrUnreachable) || !strings.HasPrefix(err.Error(), "ssh://there: ") {
		t.Errorf("%v", err)
	}
}

// TestRunLeavesNothing: the whole process group ends with the caller's wish, and with the
// connection.
func TestRunLeavesNothing(t *testing.T) {
	for name, end := range map[string]func(*machine, context.CancelFunc){
		"cancelled": func(_ *machine, cancel context.CancelFunc) { cancel() },
		"cut":       func(m *machine, _ context.CancelFunc) { m.session.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out, w := io.Pipe()
			ended := make(chan error, 1)
			go func() {
				_, err := m.Run(ctx, spawn.Command{Line: "sleep 1000 & echo $!; wait", Stdout: w})
				ended <- err
			}()
			line := make([]byte, 20)
			n, err := out.Read(line)
			if err != nil {
				t.Fatal(err)
			}
			var pid int
			if err := json.Unmarshal(line[:n], &pid); err != nil {
				t.Fatal(err)
			}
			child, err := proctree.Get(pid)
			if err != nil {
				t.Fatal(err)
			}
			end(m, cancel)
			if err := <-ended; !errors.Is(err, context.Canceled) && !errors.Is(err, api.ErrUnreachable) {
				t.Errorf("%v", err)
			}
			if err := proctree.AwaitEnd(t.Context(), []proctree.Proc{child}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRunOfAChildThatHoldsTheOutput: a command that left one behind has ended.
func TestRunOfAChildThatHoldsTheOutput(t *testing.T) {
	m := newMachine(t)
	var out bytes.Buffer
	begin := time.Now()
	code, err := m.Run(t.Context(), spawn.Command{Line: "sleep 1000 & echo $!", Stdout: &out})
	if took := time.Since(begin); err != nil || code != 0 || took > 20*time.Second {
		t.Errorf("%d, %v after %v", code, err, took)
	}
	var pid int
	if err := json.Unmarshal(out.Bytes(), &pid); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

func TestStage(t *testing.T) {
	m := newMachine(t)
	src, work := t.TempDir(), t.TempDir()
	big := strings.Repeat("b", 3<<20)
	for name, text := range map[string]string{"a": "new", "big": big} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(work, "a"), []byte("user"), 0o644); err != nil {
		t.Fatal(err)
	}
	p := staging.Plan{Overlays: []string{src}, Copies: []staging.Copy{{Src: filepath.Join(src, "a"), RelDst: "copy"}}}
	if err := m.Stage(t.Context(), work, p); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a": "user", "big": big, "copy": "new"} {
		if got, err := os.ReadFile(filepath.Join(work, name)); err != nil || string(got) != want {
			t.Errorf("%s: %.20q, %v", name, got, err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(work, "away")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		dir  string
		plan staging.Plan
		want error
	}{
		"no work dir":        {work + "/none", p, fs.ErrNotExist},
		"missing here":       {work, staging.Plan{Overlays: []string{src + "/none"}}, fs.ErrNotExist},
		"out of the tree":    {work, staging.Plan{Copies: []staging.Copy{{Src: src, RelDst: "../x"}}}, staging.ErrEscapes},
		"by a link in there": {work, staging.Plan{Copies: []staging.Copy{{Src: src, RelDst: "away/x"}}}, staging.ErrEscapes},
	} {
		if err := m.Stage(t.Context(), c.dir, c.plan); !errors.Is(err, c.want) || errors.Is(err, api.ErrUnreachable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestQuestions(t *testing.T) {
	m := newMachine(t)
	env, err := m.Environ(t.Context(), []string{"FAR"})
	if want := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home(), "FAR=yes", "LANG=C", "GC_BIN=" + os.Args[0]}; err != nil || !slices.Equal(env, want) {
		t.Errorf("environment %q, %v", env, err)
	}
	if dir, err := m.Dir(t.Context(), "", false); err != nil || dir != m.home() {
		t.Errorf("home %s, %v", dir, err)
	}
	if _, err := m.Dir(t.Context(), m.home()+"/a/b", false); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if dir, err := m.Dir(t.Context(), m.home()+"/a/b", true); err != nil || dir != m.home()+"/a/b" {
		t.Errorf("made %s, %v", dir, err)
	}
	f, err := m.Facts(t.Context())
	if err != nil || f.Version != "1.2.3" || f.OS != goruntime.GOOS || f.Arch != goruntime.GOARCH || f.UID != os.Getuid() ||
		f.Home != m.home() || f.FreeBytes <= 0 || f.MuxRunning || f.MuxError != "" || time.Since(f.Time).Abs() > time.Minute || !slices.Contains(f.Features, "run") {
		t.Errorf("%+v, %v", f, err)
	}
	if goruntime.GOOS == "linux" && (f.PTYsMax <= 0 || f.PTYsUsed < 0 || f.Boot == "") {
		t.Errorf("%+v", f)
	}
	if skew, err := m.Skew(t.Context()); err != nil || skew != 0 {
		t.Errorf("skew %v, %v", skew, err)
	}
}

// TestUnknownKind: an error about a kind that the other version lacks names that version
// and the way out.
func TestUnknownKind(t *testing.T) {
	m := newMachine(t)
	c := far.NewClient("ssh://there", later{m.session})
	_, err := c.Facts(t.Context())
	hint, ok := errors.AsType[interface {
		error
		Hint() string
	}](err)
	if !errors.Is(err, api.ErrVersion) || !strings.Contains(err.Error(), "version 1.2.3") || !ok || !strings.Contains(hint.Hint(), "gc host install ssh://there") {
		t.Errorf("%v", err)
	}
}

// later asks for kinds that no version has yet.
type later struct{ *many.Session }

func (l later) Dial(ctx context.Context, kind string, args any) (net.Conn, error) {
	return l.Session.Dial(ctx, kind+"-2", args)
}

func TestMux(t *testing.T) {
	m := newMachine(t)
	connect := func(start bool) (*client.Client, error) {
		c := client.NewClient(func(ctx context.Context) (net.Conn, error) { return m.Mux(ctx, start) })
		t.Cleanup(func() { c.Close() })
		_, err := c.Status(t.Context())
		return c, err
	}
	if _, err := connect(false); !errors.Is(err, api.ErrNoServer) {
		t.Fatalf("%v", err)
	}
	c, err := connect(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		local, err := client.Dial(ctx, m.server.Paths)
		if err != nil {
			t.Error(err)
			return
		}
		defer local.Close()
		if err := local.Shutdown(ctx, true); err != nil {
			t.Error(err)
		}
	})
	info, err := c.Create(t.Context(), api.CreateRequest{Name: "s", Command: "exec cat", WorkDir: m.home(), Env: []string{"PATH=" + os.Getenv("PATH"), "GC_CITY_PATH=/city"}})
	if err != nil {
		t.Fatal(err)
	}
	if f, err := m.Facts(t.Context()); err != nil || !f.MuxRunning || f.MuxVersion != "1.2.3" || f.MuxSessions != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if env, err := m.Program(t.Context(), info.PID, info.ID); err != nil || env["GC_CITY_PATH"] != "/city" {
		t.Errorf("%v, %v", env, err)
	}
	roots, err := m.Roots(t.Context(), info.ID)
	if err != nil || len(roots) != 1 || roots[0].PID != info.PID || roots[0].City() != "/city" {
		t.Fatalf("%+v, %v", roots, err)
	}
	if err := m.End(t.Context(), roots[0].PID, roots[0].Start, info.ID, time.Second); err != nil {
		t.Error(err)
	}
	if roots, err := m.Roots(t.Context(), info.ID); err != nil || len(roots) != 0 {
		t.Errorf("%+v, %v", roots, err)
	}
}

// TestMuxOfAnotherUser: its socket is refused, not used.
func TestMuxOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		testenv.Missing(t, "only root can make another user's socket")
	}
	m := newMachine(t)
	if err := os.Mkdir(m.server.Paths.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", m.server.Paths.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chown(m.server.Paths.Socket, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	c := client.NewClient(func(ctx context.Context) (net.Conn, error) { return m.Mux(ctx, true) })
	defer c.Close()
	if _, err := c.Status(t.Context()); !errors.Is(err, api.ErrStateDir) {
		t.Errorf("%v", err)
	}
}

// TestAway: every call of a machine that is not there is an api.ErrUnreachable.
func TestAway(t *testing.T) {
	m := newMachine(t)
	m.session.Close()
	for name, call := range map[string]func() error{
		"environ":   func() error { _, err := m.Environ(t.Context(), nil); return err },
		"facts":     func() error { _, err := m.Facts(t.Context()); return err },
		"run":       func() error { _, err := m.Run(t.Context(), spawn.Command{Line: "true"}); return err },
		"stage":     func() error { return m.Stage(t.Context(), "", staging.Plan{}) },
		"dir":       func() error { _, err := m.Dir(t.Context(), "", false); return err },
		"runtimes":  func() error { _, err := m.Roots(t.Context(), ""); return err },
		"terminate": func() error { return m.End(t.Context(), 1<<30, 1, "x", 0) },
		"mux":       func() error { _, err := m.Mux(t.Context(), false); return err },
	} {
		away := new(far.Away)
		if err := call(); !errors.Is(err, api.ErrUnreachable) || !errors.As(err, &away) || away.Machine != "ssh://there" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// clockwork is a machine that answers only what time it is there, after a while.
type clockwork struct{ ahead, takes time.Duration }

func (c clockwork) Dial(context.Context, string, any) (net.Conn, error) {
	near, there := net.Pipe()
	go func() {
		time.Sleep(c.takes / 2)
		b, _ := json.Marshal(far.Facts{Time: time.Now().Add(c.ahead)})
		time.Sleep(c.takes / 2)
		there.Write(b)
		there.Close()
	}()
	return near, nil
}

// TestSkew: an hour is seen in both directions; a difference that may be noise is none.
func TestSkew(t *testing.T) {
	for name, c := range map[string]struct {
		clockwork
		want time.Duration
	}{
		"ahead":       {clockwork{time.Hour, 0}, time.Hour},
		"behind":      {clockwork{-time.Hour, 0}, -time.Hour},
		"far away":    {clockwork{time.Hour, 20 * time.Second}, time.Hour},
		"a little":    {clockwork{time.Second, 0}, 0},
		"slow answer": {clockwork{8 * time.Second, 20 * time.Second}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				got, err := far.NewClient("there", c.clockwork).Skew(t.Context())
				if err != nil || got != c.want {
					t.Errorf("%v, %v, want %v", got, err, c.want)
				}
			})
		})
	}
}
