package control_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"testing"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/testenv"
)

// Another user gets nothing, even where the socket's mode lets them connect.
func TestForeignUser(t *testing.T) {
	if os.Geteuid() != 0 {
		testenv.Missing(t, "only root can become another user")
	}
	dir, err := os.MkdirTemp("", "ctl") // TempDir may be below a directory of root's
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := control.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	s := control.NewServer("test", func(context.Context, control.Request) control.Reply { return control.Reply{} })
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	defer func() {
		l.Close()
		<-served
		s.Close()
	}()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if n, err := readAs(65534, path); n != 0 || err != unix.EACCES {
		t.Errorf("mode 0600: %d bytes, %v", n, err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if n, err := readAs(65534, path); n != 0 || err != nil {
		t.Errorf("mode 0666: %d bytes, %v; want a closed connection", n, err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c := control.NewClient(conn)
	defer c.Close()
	if _, err := c.State(t.Context()); err != nil {
		t.Errorf("the owner afterwards: %v", err)
	}
}

// readAs connects to a socket as another user and returns how many bytes it gets. The
// thread that has become that user ends with its goroutine.
func readAs(uid int, path string) (n int, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.LockOSThread()
		if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uintptr(uid), ^uintptr(0)); e != 0 {
			err = e
			return
		}
		var fd int
		if fd, err = unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return
		}
		defer unix.Close(fd)
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err == nil {
			n, err = unix.Read(fd, make([]byte, 100))
		}
	}()
	<-done
	return n, err
}
