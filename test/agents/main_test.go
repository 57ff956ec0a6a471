//go:build agents

package agents

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/testenv"
)

// Set up by the run: the agents' programs, the gc under test, and a directory
// for homes.
var programs, gcBin, root string

var report = flag.String("report", "", "rewrite the table in this `FILE` when every agent passes")

// far is for TestFar: root starts the machines, on which the agents run as ordinary users.
var far = flag.Bool("far", false, "stay root in the namespace")

// ordinary is the agents' user if root runs the tests: claude refuses to skip
// permissions as root.
const ordinary = 65534

// inside marks the process in the network namespace: directories separated by
// ":".
const inside = "GC_AGENTS_INSIDE"

func TestMain(m *testing.M) {
	flag.Parse()
	if dirs := strings.Split(os.Getenv(inside), ":"); len(dirs) == 2 {
		programs, root = dirs[0], dirs[1]
		gcBin = filepath.Join(root, "bin", "gc")
		if err := shutIn(); err != nil {
			fmt.Fprintln(os.Stderr, "network namespace:", err)
			os.Exit(1)
		}
		os.Exit(m.Run())
	}
	os.Exit(outside())
}

// outside installs the agents and reruns this binary without a network.
func outside() int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	installed, err := install()
	if err != nil {
		return fail(err)
	}
	dir, err := os.MkdirTemp("", "gc-agents-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil {
		return fail(err)
	}
	if err := placeBinaries(filepath.Join(dir, "bin")); err != nil {
		return fail(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "bin", "recipes"), os.DirFS("../../docs/recipes")); err != nil {
		return fail(err)
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"="+installed+":"+dir)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = namespace()
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return max(exit.ExitCode(), 1)
	}
	if err != nil {
		return fail(fmt.Errorf("start in a network namespace: %w", err))
	}
	if *report != "" {
		if err := rewrite(*report, filepath.Join(dir, "w", "table")); err != nil {
			return fail(err)
		}
	}
	return 0
}

// namespace has no network. Root also gets private mounts, to give access to
// the agents' programs to a user who cannot enter root's home; other users need
// a user namespace, and the right to bring up the loopback interface in it.
func namespace() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		a.Cloneflags |= syscall.CLONE_NEWNS
		return a
	}
	a.Cloneflags |= syscall.CLONE_NEWUSER
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN}
	return a
}

// shutIn finishes the namespace from inside: it brings up the loopback
// interface, and root becomes an ordinary user.
func shutIn() error {
	if err := loopback(); err != nil {
		return err
	}
	homes := filepath.Join(root, "w")
	if err := os.Mkdir(homes, 0o700); err != nil {
		return err
	}
	seen := filepath.Join(root, "agents")
	root = homes
	if os.Getuid() != 0 {
		return unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	}
	if err := os.Mkdir(seen, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := unix.Mount(programs, seen, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", programs, err)
	}
	programs = seen
	if *far {
		return nil
	}
	if err := os.Chown(homes, ordinary, ordinary); err != nil {
		return err
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setgid(ordinary); err != nil {
		return err
	}
	return syscall.Setuid(ordinary)
}

// loopback brings up lo (netdevice(7)).
func loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
}

// placeBinaries copies gc and gc-mcp (GC_E2E_BIN, or built) to where every user
// can run them.
func placeBinaries(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"gc", "gc-mcp"} {
		path := filepath.Join(dir, name)
		if built := os.Getenv("GC_E2E_BIN"); built != "" {
			data, err := os.ReadFile(filepath.Join(filepath.Dir(built), name))
			if err != nil {
				return err
			}
			if err := testenv.WriteProgram(path, data); err != nil {
				return err
			}
			continue
		}
		build := exec.Command("go", "build", "-trimpath", "-o", path, "gascity.dev/gc/cmd/"+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return nil
}
