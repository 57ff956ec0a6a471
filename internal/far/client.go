package far

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/many"
)

// Dialer opens a connection of a kind to a Server: a many.Session, or a link.Link. The
// connection has CloseWrite.
type Dialer interface {
	Dial(ctx context.Context, kind string, args any) (net.Conn, error)
}

// Client is the near side. Its methods are safe for concurrent use. Their errors are *Error
// for those of the other machine, and *Away, an api.ErrUnreachable, while it is not reached
// or when the connection is cut.
type Client struct {
	name string
	d    Dialer
}

// NewClient returns the client of a machine; the name is for errors.
func NewClient(name string, d Dialer) *Client { return &Client{name: name, d: d} }

// String is the name of the machine.
func (c *Client) String() string { return c.name }

// dial opens a connection that is closed when ctx ends; the caller calls done.
func (c *Client) dial(ctx context.Context, kind string, args any) (conn net.Conn, done func(), err error) {
	conn, err = c.d.Dial(ctx, kind, args)
	if err != nil {
		return nil, nil, c.from(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	return conn, func() {
		stop()
		conn.Close()
	}, nil
}

// ask sends a request and decodes the result into out, which may be nil.
func (c *Client) ask(ctx context.Context, kind string, args, out any) error {
	conn, done, err := c.dial(ctx, kind, args)
	if err != nil {
		return err
	}
	defer done()
	return c.result(ctx, conn, out)
}

// maxResult bounds what is read of a result.
const maxResult = 64 << 20

func (c *Client) result(ctx context.Context, conn net.Conn, out any) error {
	if out == nil {
		out = new(json.RawMessage)
	}
	err := json.NewDecoder(io.LimitReader(conn, maxResult)).Decode(out)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return c.from(ctx, err)
}

// Mux connects to the mux, and starts one if there is none and start is set. Errors of the
// other machine are those of Read: ErrNoServer if there is no mux, for example.
func (c *Client) Mux(ctx context.Context, start bool) (net.Conn, error) {
	conn, err := c.d.Dial(ctx, kindMux, muxArgs{Start: start})
	if err != nil {
		return nil, c.from(ctx, err)
	}
	return &muxConn{conn, c}, nil
}

// City connects to the controller of the city in a directory there; "" is the only city that
// runs. Errors of the other machine are those of Read: ErrNoCity, ErrManyCities.
func (c *Client) City(ctx context.Context, dir string) (net.Conn, error) {
	conn, err := c.d.Dial(ctx, kindCity, cityArgs{Dir: dir})
	if err != nil {
		return nil, c.from(ctx, err)
	}
	return &muxConn{conn, c}, nil
}

// muxConn names the machine in refusals.
type muxConn struct {
	net.Conn
	c *Client
}

func (m *muxConn) Read(p []byte) (int, error) {
	n, err := m.Conn.Read(p)
	return n, m.refused(err)
}

func (m *muxConn) Write(p []byte) (int, error) {
	n, err := m.Conn.Write(p)
	return n, m.refused(err)
}

func (m *muxConn) refused(err error) error {
	if refused := new(many.Refused); errors.As(err, &refused) {
		return m.c.from(context.Background(), refused)
	}
	return err
}

// CloseWrite ends the data of this side.
func (m *muxConn) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Environ returns what a session there inherits, and also the variables named.
func (c *Client) Environ(ctx context.Context, also []string) ([]string, error) {
	var out texts
	err := c.ask(ctx, kindEnviron, environArgs{Also: also}, &out)
	return out, err
}

// Facts describes the machine.
func (c *Client) Facts(ctx context.Context) (Facts, error) {
	var f Facts
	err := c.ask(ctx, kindFacts, nil, &f)
	return f, err
}

// Boot identifies the machine's current boot; "" if unknown.
func (c *Client) Boot(ctx context.Context) (string, error) {
	f, err := c.Facts(ctx)
	return f.Boot, err
}

// skewNoise is the smallest difference that is taken for one of the clocks.
const skewNoise = 2 * time.Second

// Skew returns how far the machine's clock is ahead of this one's; 0 if the difference may
// be the time that the question took, or is too small to matter.
func (c *Client) Skew(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	f, err := c.Facts(ctx)
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	ahead := f.Time.Sub(begin.Add(took / 2))
	if ahead.Abs() < took/2+skewNoise {
		return 0, nil
	}
	return ahead, nil
}

// Run runs a command there; see [spawn.Run]. Env is the whole environment if Argv is set; a
// Line gets that of the machine too. If the connection is cut, the command is killed and
// the error is *Away.
func (c *Client) Run(ctx context.Context, cmd spawn.Command) (int, error) {
	args := runArgs{Argv: cmd.Argv, Line: cmd.Line, Dir: cmd.Dir, Env: cmd.Env, Alone: len(cmd.Argv) > 0}
	conn, done, err := c.dial(ctx, kindRun, args)
	if err != nil {
		return 0, err
	}
	defer done()
	go func() { // ends with Stdin, or at the next write after the command's end
		if cmd.Stdin != nil {
			_, _ = io.Copy(conn, cmd.Stdin)
		}
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	exit, err := readFrames(conn, cmd.Stdout, cmd.Stderr)
	if err != nil {
		return 0, c.from(ctx, err)
	}
	if exit.Error != nil {
		return exit.Code, c.from(ctx, exit.Error)
	}
	return exit.Code, nil
}

// Stage stages a plan, whose files are on this machine, into a directory there, with the
// same result as [staging.Overlay] and [staging.CopyAll] there. "" is the home directory.
func (c *Client) Stage(ctx context.Context, dir string, p staging.Plan) error {
	conn, done, err := c.dial(ctx, kindStage, stageArgs{Dir: dir})
	if err != nil {
		return err
	}
	defer done()
	// The reply may come before the end of the tar, when something there fails.
	out := &sink{w: conn}
	packed := make(chan error, 1)
	go func() {
		err := staging.Pack(ctx, out, p)
		if err != nil && out.err == nil { // a file here: nothing is to be staged
			conn.Close()
		}
		packed <- err
	}()
	err = c.result(ctx, conn, nil)
	conn.Close()
	if here := <-packed; here != nil && out.err == nil {
		return here
	}
	return err
}

// sink remembers the error of a write.
type sink struct {
	w   io.Writer
	err error
}

// Write implements io.Writer.
func (s *sink) Write(p []byte) (int, error) {
	n, err := s.w.Write(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// Dir checks a directory there, after making it if asked to, and returns its path; "" is
// the home directory.
func (c *Client) Dir(ctx context.Context, path string, make bool) (string, error) {
	var out string
	err := c.ask(ctx, kindDir, dirArgs{Path: path, Make: make}, &out)
	return out, err
}

// Gone returns nil when no process of a session has one of the names; see
// [proctree.AwaitGone].
func (c *Client) Gone(ctx context.Context, pid int, id string, names []string) error {
	return c.ask(ctx, kindGone, goneArgs{PID: pid, ID: id, Names: names}, nil)
}

// Program returns the environment of a session's program; see [proctree.ProgramEnviron].
func (c *Client) Program(ctx context.Context, pid int, id string) (map[string]string, error) {
	var list texts
	if err := c.ask(ctx, kindProgram, programArgs{PID: pid, ID: id}, &list); err != nil {
		return nil, err
	}
	env := make(map[string]string, len(list))
	for _, kv := range list {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env, nil
}

// Roots is [proctree.Roots] there. The environments have only the variables of gc that
// identify a session.
func (c *Client) Roots(ctx context.Context, id string) ([]proctree.Root, error) {
	var list []root
	if err := c.ask(ctx, kindRuntimes, runtimesArgs{ID: id}, &list); err != nil {
		return nil, err
	}
	out := make([]proctree.Root, len(list))
	for i, r := range list {
		out[i] = proctree.Root{Proc: proctree.Proc{PID: r.PID, Start: r.Start}, Env: r.Env}
	}
	return out, nil
}

// End is [proctree.End] there.
func (c *Client) End(ctx context.Context, pid int, start uint64, id string, grace time.Duration) error {
	return c.ask(ctx, kindTerminate, terminateArgs{PID: pid, Start: start, ID: id, Grace: grace.Milliseconds()}, nil)
}
