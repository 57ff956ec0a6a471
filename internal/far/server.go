package far

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"gascity.dev/gc/internal/environ"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/internal/staging"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
)

// Server answers the connections of a near side. Its zero value lacks only Paths.
type Server struct {
	Paths   api.Paths // of the mux
	Version string    // of this gc, and of a mux that it starts
	Environ []string  // of commands and sessions; nil: this process's

	// City connects to the controller of the city in a directory; "" is the only city that
	// runs. ErrNoCity, ErrManyCities; nil: there never is one.
	City func(ctx context.Context, dir string) (net.Conn, error)
}

// Hello is the server's greeting.
func (s *Server) Hello() many.Hello {
	f := s.facts()
	return many.Hello{Version: s.Version, Features: f.Features, OS: f.OS, Arch: f.Arch}
}

// Handle serves one connection, for many.Serve: ctx ends when the near side has closed it.
func (s *Server) Handle(ctx context.Context, r many.Request, conn net.Conn) {
	var err error
	switch r.Kind {
	case kindMux:
		err = with(r, func(a muxArgs) error { return s.mux(ctx, a, conn) })
	case kindCity:
		err = with(r, func(a cityArgs) error { return s.city(ctx, a, conn) })
	case kindRun:
		err = with(r, func(a runArgs) error { return s.run(ctx, a, conn) })
	case kindStage:
		err = with(r, func(a stageArgs) error { return s.stage(ctx, a, conn) })
	case kindEnviron:
		err = with(r, func(a environArgs) error { return reply(conn, texts(s.inherited(a.Also))) })
	case kindFacts:
		err = reply(conn, s.Facts(ctx))
	case kindDir:
		err = with(r, func(a dirArgs) error { return s.dir(a, conn) })
	case kindProgram:
		err = with(r, func(a programArgs) error { return s.program(ctx, a, conn) })
	case kindRuntimes:
		err = with(r, func(a runtimesArgs) error { return s.runtimes(a, conn) })
	case kindTerminate:
		err = with(r, func(a terminateArgs) error {
			err := proctree.End(ctx, a.PID, a.Start, a.ID, time.Duration(a.Grace)*time.Millisecond)
			if err != nil {
				return err
			}
			return reply(conn, struct{}{})
		})
	case kindGone:
		err = with(r, func(a goneArgs) error {
			if err := proctree.AwaitGone(ctx, proctree.Tree{Root: a.PID, SID: a.PID, ID: a.ID}, a.Names); err != nil {
				return err
			}
			return reply(conn, struct{}{})
		})
	default:
		err = &unknownKind{s.Version, r.Kind}
	}
	if err != nil && ctx.Err() == nil {
		no := refusal(err)
		_ = many.Refuse(conn, no.Code, no.Text) // a peer that has gone needs no answer
	}
}

// unknownKind refuses a kind that this version does not know. It is an api.ErrVersion.
type unknownKind struct{ version, kind string }

func (e *unknownKind) Error() string {
	return fmt.Sprintf("gc there is version %s, which does not support %.40q", e.version, e.kind)
}

func (e *unknownKind) Is(target error) bool { return target == api.ErrVersion }

// with decodes the arguments of a request. An unknown field is ignored.
func with[T any](r many.Request, serve func(T) error) error {
	var args T
	if len(r.Args) > 0 {
		if err := json.Unmarshal(r.Args, &args); err != nil {
			return fmt.Errorf("%w: arguments of %s: %w", api.ErrRequest, r.Kind, err)
		}
	}
	return serve(args)
}

// reply accepts, and sends the result.
func reply(conn net.Conn, result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if many.Accept(conn) == nil {
		_, _ = conn.Write(append(b, '\n')) // a peer that has gone needs no answer
	}
	return nil
}

// environ is the server's environment, with the path of this gc.
func (s *Server) environ() []string {
	out := s.Environ
	if out == nil {
		out = os.Environ()
	}
	if bin, err := self.Program(); err == nil {
		out = append(slices.Clone(out), envBin+"="+bin)
	}
	return out
}

// envBin names the gc that a session's commands call.
const envBin = "GC_BIN"

// inherited returns the variables that a session here inherits, also to find gc and the mux,
// and those named.
func (s *Server) inherited(also []string) []string {
	var out []string
	for _, kv := range s.environ() {
		if name, _, ok := strings.Cut(kv, "="); ok && (environ.Inherited(name) || environ.Finds(name) || slices.Contains(also, name)) {
			out = append(out, kv)
		}
	}
	return out
}

// connect returns a connection to the mux's socket.
func (s *Server) connect(ctx context.Context, start bool) (net.Conn, error) {
	c, err := client.Dial(ctx, s.Paths)
	if start && errors.Is(err, api.ErrNoServer) {
		c, err = client.Ensure(ctx, s.Paths, s.Version)
	}
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Stream(ctx)
}

// mux copies bytes both ways until both have ended, or either fails.
func (s *Server) mux(ctx context.Context, a muxArgs, conn net.Conn) error {
	mux, err := s.connect(ctx, a.Start)
	if err != nil {
		return err
	}
	join(ctx, conn, mux)
	return nil
}

// city is mux for the controller of a city.
func (s *Server) city(ctx context.Context, a cityArgs, conn net.Conn) error {
	if s.City == nil {
		return fmt.Errorf("%w there", ErrNoCity)
	}
	controller, err := s.City(ctx, a.Dir)
	if err != nil {
		return err
	}
	join(ctx, conn, controller)
	return nil
}

// join accepts conn, and copies between it and another connection, which it closes.
func join(ctx context.Context, conn, other net.Conn) {
	defer other.Close()
	if many.Accept(conn) != nil {
		return
	}
	stop := context.AfterFunc(ctx, func() { other.Close() })
	defer stop()
	there := make(chan struct{})
	go func() {
		defer close(there)
		pass(other, conn)
	}()
	pass(conn, other)
	conn.Close() // the other sends nothing any more
	<-there
}

// pass copies to the end and passes that on.
func pass(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
	} else {
		to.Close()
	}
}

// stage unpacks a tar. Until it was read, or refused, the peer may be sending.
func (s *Server) stage(ctx context.Context, a stageArgs, conn net.Conn) error {
	dir, err := s.resolve(a.Dir)
	if err == nil {
		err = isDir(dir)
	}
	if err == nil {
		err = staging.Unpack(ctx, dir, conn)
	}
	if err != nil {
		return err
	}
	return reply(conn, struct{}{})
}

// resolve returns the path of a directory; "" is the home directory.
func (s *Server) resolve(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	for _, kv := range s.environ() {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok && home != "" {
			return home, nil
		}
	}
	return os.UserHomeDir()
}

func isDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("work dir: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("work dir %s: not a directory", dir)
	}
	return nil
}

func (s *Server) dir(a dirArgs, conn net.Conn) error {
	dir, err := s.resolve(a.Path)
	if err != nil {
		return err
	}
	if a.Make {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("work dir: %w", err)
		}
	}
	if err := isDir(dir); err != nil {
		return err
	}
	return reply(conn, dir)
}

func (s *Server) program(ctx context.Context, a programArgs, conn net.Conn) error {
	env, err := proctree.ProgramEnviron(ctx, a.PID, a.ID)
	if err != nil {
		return err
	}
	var list texts
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return reply(conn, list)
}

func (s *Server) runtimes(a runtimesArgs, conn net.Conn) error {
	roots, err := proctree.Roots(a.ID)
	if err != nil {
		return err
	}
	out := make([]root, len(roots))
	for i, r := range roots {
		out[i] = root{PID: r.PID, Start: r.Start, Env: map[string]string{}}
		for _, name := range []string{proctree.SessionVar, "GC_SESSION_NAME", "GC_CITY_PATH", "GC_CITY", "GC_RUNTIME_EPOCH"} {
			if v, ok := r.Env[name]; ok {
				out[i].Env[name] = v
			}
		}
	}
	return reply(conn, out)
}
