package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
	"gascity.dev/gc/mux/many"
	"golang.org/x/sys/unix"
)

// Host is another machine with a gc of its own, reached through a program such
// as ssh that runs a command there and passes its standard streams on.
//
// A [Client] runs one `gc mux dial --many` there, which carries all of its connections
// (package many). A gc that is too old for it gets one run of `gc mux dial` for each
// connection, and the client keeps two idle ones. [Host.Stream] is for those who hold the
// stream themselves, such as internal/link.
type Host struct {
	User string // empty: the program's choice
	Name string
	Port int // 0: the program's choice

	// Program replaces ssh: a shell command line that gets ssh's arguments.
	Program string

	// Bin is what gc is called there, a name on the PATH or a path; empty: gc.
	Bin string

	Version string // of this gc, for the gc there
}

// hostIdle is how many idle connections to a host a client keeps.
const hostIdle = 2

// ParseHost reads ssh://[user@]HOST[:port]. ErrRequest for anything else; a
// password is refused, since every process could read it.
func ParseHost(s string) (Host, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "ssh" || u.Hostname() == "" || strings.TrimSuffix(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return Host{}, fmt.Errorf("%w: host %q: want ssh://[user@]HOST[:port]", api.ErrRequest, s)
	}
	h := Host{User: u.User.Username(), Name: u.Hostname()}
	if _, has := u.User.Password(); has {
		return Host{}, fmt.Errorf("%w: a password in the name of a host can be read by every process; use a key", api.ErrRequest)
	}
	if strings.HasPrefix(h.User, "-") || strings.HasPrefix(h.Name, "-") {
		return Host{}, fmt.Errorf("%w: host %q: a name does not start with -", api.ErrRequest, s)
	}
	if p := u.Port(); p != "" {
		if h.Port, err = strconv.Atoi(p); err != nil || h.Port < 1 || h.Port > 65535 {
			return Host{}, fmt.Errorf("%w: host %q: port %s", api.ErrRequest, s, p)
		}
	}
	return h, nil
}

// String is the name of the host as ParseHost reads it.
func (h Host) String() string {
	u := url.URL{Scheme: "ssh", Host: h.Name}
	if strings.Contains(h.Name, ":") {
		u.Host = "[" + h.Name + "]"
	}
	if h.Port != 0 {
		u.Host += ":" + strconv.Itoa(h.Port)
	}
	if h.User != "" {
		u.User = url.User(h.User)
	}
	return u.String()
}

// argv returns the program that runs gc with these words on the host. It detects a
// dead link within a minute.
func (h Host) argv(words ...string) []string {
	args := []string{"-T", "-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3"}
	if h.Port != 0 {
		args = append(args, "-p", strconv.Itoa(h.Port))
	}
	if h.User != "" {
		args = append(args, "-l", h.User)
	}
	args = append(args, "--", h.Name, cmp.Or(h.Bin, "gc"))
	args = append(args, words...)
	if h.Program == "" {
		return append([]string{"ssh"}, args...)
	}
	return append([]string{"/bin/sh", "-c", "exec " + h.Program + ` "$@"`, "gc-ssh"}, args...)
}

// Dial connects to the server of the host and requests its status. ErrNoServer if none
// runs there; a *HostError if the program failed or found no gc. Closing the client ends
// the program.
func (h Host) Dial(ctx context.Context) (*Client, error) { return h.connect(ctx, false) }

// Ensure is Dial, but starts a server if there is none.
func (h Host) Ensure(ctx context.Context) (*Client, error) { return h.connect(ctx, true) }

func (h Host) connect(ctx context.Context, start bool) (*Client, error) {
	s, err := h.open(ctx)
	if IsTooOld(err) {
		if start {
			return h.connectEach(ctx, "mux", "dial", "--start")
		}
		return h.connectEach(ctx, "mux", "dial")
	}
	if err != nil {
		return nil, err
	}
	c := newClient(api.Paths{}, nil, func(ctx context.Context) (net.Conn, error) {
		return s.Dial(ctx, MuxKind, MuxArgs{Start: start})
	})
	c.host, c.stream = h.String(), s
	if _, err := c.Status(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// MuxKind is the kind of a connection of package many to the multiplexer's socket, and
// MuxArgs are its arguments. NoServer is the code of the refusal if there is no server.
const (
	MuxKind  = "mux"
	NoServer = "no_server"
)

// MuxArgs are the arguments of a connection of MuxKind.
type MuxArgs struct {
	Start bool `json:"start"` // a server if there is none
}

// open runs gc on the host and greets it.
func (h Host) open(ctx context.Context) (*many.Session, error) {
	rw, err := h.Stream(ctx)
	if err != nil {
		return nil, err
	}
	mine := many.Hello{Version: h.Version, OS: goruntime.GOOS, Arch: goruntime.GOARCH}
	s, err := many.Open(ctx, rw, mine, many.Options{})
	var failed *HostError
	switch {
	case err == nil || ctx.Err() != nil || errors.As(err, &failed):
		return s, err
	default:
		return nil, fmt.Errorf("%w: %s: %w", api.ErrUnreachable, h, err)
	}
}

// Stream runs gc on the host; the program's standard streams carry many connections,
// once [many.Open] has greeted the gc there. Errors of Read and Write are a *HostError
// if the program failed. Close ends it.
func (h Host) Stream(context.Context) (io.ReadWriteCloser, error) {
	c, err := h.dial("mux", "dial", "--many")
	if err != nil {
		return nil, err
	}
	c.always = true
	return c, nil
}

// IsTooOld reports whether a stream failed since the gc of the host does not know
// gc mux dial --many.
func IsTooOld(err error) bool {
	var failed *HostError
	return errors.As(err, &failed) && failed.tooOld()
}

func (e *HostError) tooOld() bool {
	return e.Status == hostUsage && strings.Contains(e.Output, "unknown flag")
}

// connectEach connects to a gc that is too old for many connections over one stream.
func (h Host) connectEach(ctx context.Context, first ...string) (*Client, error) {
	conn, err := h.dialConn(first...)
	if err != nil {
		return nil, err
	}
	c := newClient(api.Paths{}, nil, func(context.Context) (net.Conn, error) {
		if conn != nil { // for the request of Status
			first := conn
			conn = nil
			return first, nil
		}
		return h.dialConn("mux", "dial")
	})
	c.conns.MaxIdle = hostIdle
	if _, err := c.Status(ctx); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Environ returns what a session there inherits: the part of a command's environment
// on the host that its gc passes on.
func (h Host) Environ(ctx context.Context) ([]string, error) {
	argv := h.argv("mux", "dial", "--environ")
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	said := new(tail)
	cmd.Stderr, cmd.WaitDelay = said, hostLast/4
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return nil, &HostError{Host: h.String(), Status: exit.ExitCode(), Output: said.String()}
	}
	var environ []string
	if err == nil {
		err = json.Unmarshal(out, &environ)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: environment of %s: %w", api.ErrUnreachable, h, err)
	}
	return environ, nil
}

// dialConn is dial for a connection to the server.
func (h Host) dialConn(words ...string) (net.Conn, error) {
	c, err := h.dial(words...)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// dial runs the words on the host; the program's standard streams are the connection.
func (h Host) dial(words ...string) (*hostConn, error) {
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, err
	}
	theirFile := os.NewFile(uintptr(theirs), "program")
	ourFile := os.NewFile(uintptr(ours), "connection")
	conn, err := net.FileConn(ourFile)
	ourFile.Close()
	if err != nil {
		theirFile.Close()
		return nil, err
	}
	argv := h.argv(words...)
	c := &hostConn{Conn: conn, host: h, cmd: exec.Command(argv[0], argv[1:]...), ended: make(chan struct{})}
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirFile, theirFile, &c.said
	c.cmd.WaitDelay = hostLast / 4 // a helper of the program may hold its streams
	err = c.cmd.Start()
	theirFile.Close()
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%w: %s: %w", api.ErrUnreachable, h, err)
	}
	go func() {
		_ = c.cmd.Wait() // the status is in ProcessState
		close(c.ended)
	}()
	return c, nil
}

// hostLast is how long a program may take to report why its connection ended.
const hostLast = time.Second

// hostConn is a connection over a program's standard streams. A failed read returns why
// the program ended.
type hostConn struct {
	net.Conn
	host  Host
	cmd   *exec.Cmd
	said  tail
	ended chan struct{} // closed when the program has ended and was collected
	once  sync.Once
	got   atomic.Bool // something was read

	always bool // also an error after that is replaced by the program's
}

func (c *hostConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.got.Store(true)
	}
	return n, c.why(err)
}

func (c *hostConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	return n, c.why(err)
}

// why replaces the error of a connection by its program's output: of one that never
// worked, or always.
func (c *hostConn) why(err error) error {
	if err == nil || c.got.Load() && !c.always || errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, net.ErrClosed) {
		return err
	}
	select {
	case <-c.ended:
	case <-time.After(hostLast):
		return err
	}
	if code := c.cmd.ProcessState.ExitCode(); code > 0 {
		return &HostError{Host: c.host.String(), Status: code, Output: c.said.String()}
	}
	return err
}

// CloseWrite ends the program's standard input.
func (c *hostConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close ends the program too, and first: whoever reads may exit as soon as the
// connection is closed, and a program that waits for the host would stay.
func (c *hostConn) Close() error {
	c.once.Do(func() { _ = c.cmd.Process.Signal(unix.SIGTERM) })
	return c.Conn.Close()
}

// HostError reports that a host's program ended before it delivered anything.
type HostError struct {
	Host   string
	Status int    // of the program; 255 is ssh's own failure
	Output string // the last lines of its standard error
}

// Statuses of the remote command: gc's for bad arguments and for "no server", the shell's
// for a command that is not found, and ssh's for its own failures.
const (
	hostUsage    = 2
	hostNoServer = 3
	hostNoGC     = 127
	hostFailed   = 255
)

// Error includes the program's output.
func (e *HostError) Error() string {
	switch {
	case e.Status == hostNoServer:
		return e.Host + ": " + api.ErrNoServer.Error()
	case e.Status == hostNoGC:
		return e.Host + ": gc was not found there"
	case e.tooOld():
		return e.Host + ": the gc there is too old for this one"
	case e.Output != "":
		return e.Host + ": " + e.Output
	}
	return fmt.Sprintf("%s: the connection ended with status %d", e.Host, e.Status)
}

// Hint is the next step, or "".
func (e *HostError) Hint() string {
	name := e.Host
	if h, err := ParseHost(e.Host); err == nil {
		name = h.Name
	}
	switch {
	case e.Status == hostNoGC:
		return "gc host install " + e.Host + " puts it there; GC_HOST_BIN says where it is if it is not on the PATH of commands there"
	case e.Status == hostNoServer:
		return ""
	case e.tooOld():
		return "gc host install " + e.Host + " installs this version there; sessions keep running"
	case e.Status != hostFailed:
		return "gc host check " + e.Host + " says what is wrong there"
	case strings.Contains(e.Output, "IDENTIFICATION HAS CHANGED"):
		return "find out why its key changed; only then remove the old one with ssh-keygen -R"
	case strings.Contains(e.Output, "Host key verification failed"):
		return "connect once by hand, compare the key and accept it: ssh " + name
	case strings.Contains(e.Output, "Permission denied"):
		return "ssh " + name + " must log in without a question: ssh-copy-id, or ssh-add for a key with a passphrase"
	}
	return "try it by hand: ssh " + name + " gc mux status"
}

// Unwrap returns ErrNoServer if the host's gc reported that, else ErrUnreachable.
func (e *HostError) Unwrap() error {
	if e.Status == hostNoServer {
		return api.ErrNoServer
	}
	return api.ErrUnreachable
}

// tail keeps the last bytes written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailBytes = 1 << 10

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	t.buf = t.buf[max(0, len(t.buf)-tailBytes):]
	return len(p), nil
}

// String returns the last bytes written, trimmed.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(strings.ReplaceAll(string(t.buf), "\r\n", "\n"))
}
