package stuck

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"gascity.dev/gc/internal/proctree"
	"golang.org/x/sys/unix"
)

// TestMain is the program that tests look at, too: it connects to the address in STUCK_DIAL,
// and reads its standard input.
func TestMain(m *testing.M) {
	if addr := os.Getenv("STUCK_DIAL"); addr != "" {
		dialed(addr)
		return
	}
	os.Exit(m.Run())
}

func dialed(addr string) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		panic(err)
	}
	defer c.Close()
	in, from := bufio.NewScanner(os.Stdin), bufio.NewReader(c)
	fmt.Println("ready")
	for in.Scan() {
		switch in.Text() {
		case "receive":
			_, err = from.ReadByte()
		case "compute":
			for end := used() + 200*time.Millisecond; used() < end; {
			}
		case "child":
			cmd := exec.Command("sleep", "1000")
			if err = cmd.Start(); err == nil {
				defer cmd.Wait()         // killed below
				defer cmd.Process.Kill() //nolint:errcheck // its end is waited for
			}
		}
		if err != nil {
			panic(err)
		}
		fmt.Println("done")
	}
}

// used is the CPU time of this process.
func used() time.Duration {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestRead looks at a real process: each kind of movement changes its own part of the sample.
func TestRead(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "STUCK_DIAL="+l.Addr().String())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = cmd.Wait()
	}()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	said := bufio.NewScanner(out)
	if !said.Scan() {
		t.Fatal("it ended")
	}
	do := func(what string) {
		t.Helper()
		if _, err := fmt.Fprintln(in, what); err != nil || !said.Scan() {
			t.Fatal(what, err)
		}
	}
	look := func() Sample {
		t.Helper()
		s, err := Read(proctree.Tree{Root: cmd.Process.Pid}.Members)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := look()
	if len(before.Procs) != 1 || len(before.Net.Sockets) != 1 {
		t.Fatalf("%+v", before)
	}
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	do("receive")
	received := look()
	if got := received.Net.Bytes - before.Net.Bytes; got != 1 {
		t.Errorf("a byte came, and the sample counts %d", got)
	}
	do("compute")
	computed := look()
	if used := computed.CPU - received.CPU; used < 50*time.Millisecond {
		t.Errorf("it computed for 200 ms, and the sample counts %v", used)
	}
	if computed.Net.Bytes != received.Net.Bytes || !slices.Equal(computed.Procs, received.Procs) {
		t.Errorf("it only computed: %+v, before %+v", computed, received)
	}
	do("child")
	if s := look(); len(s.Procs) != 2 {
		t.Errorf("it has a child: %+v", s)
	}
}

// TestReadForeign: a process whose descriptors are not readable is not judged.
func TestReadForeign(t *testing.T) {
	t.Parallel()
	gone := func() ([]proctree.Proc, error) { return nil, nil }
	if _, err := Read(gone); err == nil {
		t.Error("processes that are not visible were judged")
	}
}
