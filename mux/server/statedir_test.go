package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// aliveStat matches /proc/PID/stat of a living process.
var aliveStat = regexp.MustCompile(`\) [SRD] `)

// stranger is a uid that is not this process's.
const stranger = 64003

// planted is a shared directory with a stranger's files.
type planted struct {
	t      *testing.T
	p      api.Paths
	victim *exec.Cmd // not a server; SIGUSR1 ends it
	mine   string    // a directory that others may read
	target string    // target of a symbolic link; does not exist
}

func (x *planted) check(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

// give changes the owner of a file to the stranger.
func (x *planted) give(paths ...string) {
	x.t.Helper()
	if os.Geteuid() != 0 {
		testenv.Missing(x.t, "only root can make a file another user's")
	}
	for _, p := range paths {
		x.check(os.Lchown(p, stranger, stranger))
	}
}

// state makes the state directory with a lock that is held and names the victim.
func (x *planted) state() {
	x.t.Helper()
	x.check(os.Mkdir(x.p.Dir, 0o700))
	lock, err := os.Create(x.p.Lock())
	x.check(err)
	x.t.Cleanup(func() { lock.Close() })
	_, err = fmt.Fprint(lock, x.victim.Process.Pid)
	x.check(err)
	x.check(unix.Flock(int(lock.Fd()), unix.LOCK_EX))
}

// TestPlantedState: whatever others put in place of the socket and the state
// directory, none of this user's processes is signalled, and no file is
// created, changed or waited for.
func TestPlantedState(t *testing.T) {
	t.Parallel()
	cases := map[string]func(x *planted){
		"a directory of another user": func(x *planted) { x.state(); x.give(x.p.Lock(), x.p.Dir) },
		"a lock of another user":      func(x *planted) { x.state(); x.give(x.p.Lock()) },
		"a link to my own folder":     func(x *planted) { x.check(os.Symlink(x.mine, x.p.Dir)) },
		"a link for a lock": func(x *planted) {
			x.check(os.Mkdir(x.p.Dir, 0o700))
			x.check(os.Symlink(x.target, x.p.Lock()))
			x.check(os.Symlink(x.target, filepath.Join(x.p.Dir, api.StartLock)))
		},
		"a link for the log": func(x *planted) {
			x.check(os.Mkdir(x.p.Dir, 0o700))
			x.check(os.Symlink(x.target, x.p.Log()))
		},
		"a fifo for a lock": func(x *planted) {
			x.check(os.Mkdir(x.p.Dir, 0o700))
			x.check(unix.Mkfifo(filepath.Join(x.p.Dir, api.StartLock), 0o600))
		},
		"a directory that others may write": func(x *planted) { x.state(); x.check(os.Chmod(x.p.Dir, 0o777)) },
		"a folder that others may write":    func(x *planted) { x.check(os.Chmod(filepath.Dir(x.p.Dir), 0o777)) },
		"a folder of another user":          func(x *planted) { x.give(filepath.Dir(x.p.Dir)) },
		"a file for the socket":             func(x *planted) { x.check(os.WriteFile(x.p.Socket, nil, 0o600)) },
		"a link for the socket":             func(x *planted) { x.check(os.Symlink(x.target, x.p.Socket)) },
		"a socket of another user": func(x *planted) {
			l, err := net.Listen("unix", x.p.Socket)
			x.check(err)
			x.t.Cleanup(func() { l.Close() })
			x.give(x.p.Socket)
		},
		"a pid that is not a server's": func(x *planted) { x.state() },
	}
	for name, plant := range cases {
		t.Run(name, func(t *testing.T) {
			x := &planted{t: t, p: testPaths(t), mine: t.TempDir(), victim: exec.Command("sleep", "1000")}
			x.target = x.mine + "/target"
			folder := filepath.Dir(x.p.Dir)
			x.check(os.Chmod(folder, 0o777|os.ModeSticky))
			x.check(os.Chmod(x.mine, 0o755))
			x.check(x.victim.Start())
			t.Cleanup(func() { _ = x.victim.Process.Kill(); _ = x.victim.Wait() })
			plant(x)
			for what, connect := range map[string]func(context.Context) (*client.Client, error){
				"dial":  func(ctx context.Context) (*client.Client, error) { return client.Dial(ctx, x.p) },
				"start": func(ctx context.Context) (*client.Client, error) { return client.Ensure(ctx, x.p, "test") },
			} {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				c, err := connect(ctx)
				cancel()
				switch {
				case err == nil:
					c.Close()
					t.Errorf("%s: it works", what)
				case errors.Is(err, api.ErrStateDir), what == "dial" && errors.Is(err, api.ErrNoServer):
				case name == "a pid that is not a server's" && ctx.Err() != nil:
				default:
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := x.victim.Process.Signal(unix.Signal(0)); err != nil {
				t.Errorf("the victim: %v", err)
			}
			if st, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", x.victim.Process.Pid)); err == nil && !aliveStat.Match(st) {
				t.Errorf("the victim was signalled: %s", st)
			}
			if _, err := os.Lstat(x.target); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a file was made through a link: %v", err)
			}
			if fi, err := os.Stat(x.mine); err != nil || fi.Mode().Perm() != 0o755 {
				t.Errorf("the mode of my folder: %v, %v", fi.Mode(), err)
			}
			if left, err := os.ReadDir(x.mine); err != nil || len(left) != 0 {
				t.Errorf("made in my folder: %v, %v", left, err)
			}
		})
	}
}
