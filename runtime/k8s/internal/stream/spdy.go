//go:build k8s

package stream

import (
	"context"
	"errors"
	"io"
	"sync"

	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/klog/v2"
)

// spdy opens a stream after WebSocket was refused. The errors of both are joined if SPDY is
// refused, too.
func (d *Dialer) spdy(ctx context.Context, t Target, refused error) (*piped, error) {
	executor, err := remotecommand.NewSPDYExecutor(d.config, "POST", d.address(t))
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(klog.NewContext(context.Background(), klog.Logger{})) // client-go prints nothing
	in, toPod := io.Pipe()
	fromPod, out := io.Pipe()
	s := &piped{toPod: toPod, fromPod: fromPod, end: end, ended: make(chan struct{})}
	accepted := &first{Reader: in, read: make(chan struct{})}
	go func() {
		defer close(s.ended)
		err := executor.StreamWithContext(life, remotecommand.StreamOptions{Stdin: accepted, Stdout: out, Stderr: &s.said})
		switch {
		case err == nil: // client-go returns the same for a cut
			err = io.ErrUnexpectedEOF
		case upgradeRefused(err):
			err = errors.Join(refused, err)
		}
		s.err = why(t, err, s.said.line())
		// Whoever still copies in client-go ends, too.
		in.CloseWithError(io.ErrClosedPipe)
		out.CloseWithError(s.err)
	}()
	select {
	case <-accepted.read:
		return s, nil
	case <-s.ended:
		s.Close()
		return nil, s.err
	case <-ctx.Done():
		s.Close()
		return nil, context.Cause(ctx)
	}
}

// first closes read when it is read for the first time.
type first struct {
	io.Reader
	once sync.Once
	read chan struct{}
}

// Read implements io.Reader.
func (f *first) Read(p []byte) (int, error) {
	f.once.Do(func() { close(f.read) })
	return f.Reader.Read(p)
}

// piped is a stream over SPDY: client-go copies to and from pipes.
type piped struct {
	toPod   *io.PipeWriter
	fromPod *io.PipeReader
	said    tail
	end     context.CancelFunc

	ended chan struct{}
	err   error // why; after ended
}

// Read implements io.Reader. It never returns io.EOF: over SPDY a command that succeeded
// cannot be told from a cut.
func (s *piped) Read(p []byte) (int, error) { return s.fromPod.Read(p) }

// Write implements io.Writer.
func (s *piped) Write(p []byte) (int, error) {
	n, err := s.toPod.Write(p)
	if err != nil {
		select {
		case <-s.ended:
			err = s.err
		default:
		}
	}
	return n, err
}

// Close implements io.Closer. The command gets the end of its input: the cluster does not
// end a command whose stream is gone.
func (s *piped) Close() error {
	s.toPod.Close()
	s.end()
	s.fromPod.CloseWithError(io.ErrClosedPipe)
	return nil
}
