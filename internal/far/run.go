package far

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"gascity.dev/gc/internal/spawn"
	"gascity.dev/gc/mux/many"
)

// The frames of a run: a type, a length of 4 bytes (big-endian), and the payload.
const (
	frameStdout = 1
	frameStderr = 2
	frameExit   = 3 // the last one; exitStatus as JSON
)

// frameLimit bounds a payload.
const frameLimit = 32 << 10

// exitStatus is how a command ended, or the error that prevented that.
type exitStatus struct {
	Code  int           `json:"code"`
	Error *many.Refused `json:"failed,omitempty"`
}

// frames writes frames. A failed write is the peer's end.
type frames struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frames) send(kind byte, payload []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	head := append([]byte{kind}, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(head[1:], uint32(len(payload)))
	_, err := f.w.Write(append(head, payload...))
	return err
}

// framed is the writer of one kind of output.
type framed struct {
	*frames
	kind byte
}

// Write implements io.Writer.
func (f framed) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += frameLimit {
		if err := f.send(f.kind, p[n:min(len(p), n+frameLimit)]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}

// run runs a command until it has ended or the peer has closed the connection, which is
// when ctx ends.
func (s *Server) run(ctx context.Context, a runArgs, conn net.Conn) error {
	c := spawn.Command{Argv: a.Argv, Line: a.Line, Dir: a.Dir, Env: a.Env, Stdin: conn}
	if !a.Alone {
		c.Env = append(append([]string{}, s.environ()...), a.Env...)
	}
	if info, err := os.Stat(c.Dir); c.Dir == "" || a.Line != "" && (err != nil || !info.IsDir()) {
		if c.Dir, err = s.resolve(""); err != nil { // a setup command may make its work dir
			return err
		}
	}
	if many.Accept(conn) != nil {
		return nil
	}
	out := &frames{w: conn}
	c.Stdout, c.Stderr = framed{out, frameStdout}, framed{out, frameStderr}
	code, err := spawn.Run(ctx, c)
	exit := exitStatus{Code: code}
	if err != nil {
		no := refusal(err)
		exit.Error = &no
	}
	b, err := json.Marshal(exit)
	if err != nil {
		return err
	}
	_ = out.send(frameExit, b) // a peer that has gone needs no answer
	return nil
}

// errFrame is a frame that this version cannot read.
var errFrame = errors.New("the output of the command cannot be read")

// readFrames passes output on until the command has ended.
func readFrames(r io.Reader, stdout, stderr io.Writer) (exitStatus, error) {
	var exit exitStatus
	for {
		var head [5]byte
		if _, err := io.ReadFull(r, head[:]); err != nil {
			return exit, noEOF(err)
		}
		size := binary.BigEndian.Uint32(head[1:])
		if size > frameLimit {
			return exit, fmt.Errorf("%w: a frame of %d bytes", errFrame, size)
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(r, payload); err != nil {
			return exit, noEOF(err)
		}
		to := io.Discard
		switch head[0] {
		case frameStdout:
			to = stdout
		case frameStderr:
			to = stderr
		case frameExit:
			if err := json.Unmarshal(payload, &exit); err != nil {
				return exit, fmt.Errorf("%w: %w", errFrame, err)
			}
			return exit, nil
		}
		if to == nil {
			continue
		}
		if _, err := to.Write(payload); err != nil {
			return exit, err
		}
	}
}

// noEOF is err, since a run does not end without its last frame.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
