package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"gascity.dev/gc/mux/api"
)

// ShellConn is the standard streams of a sh on a host. A failed Read returns a
// *HostError if the program ended before it delivered anything.
type ShellConn interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Shell runs sh on the host, which needs no gc for it. The end of ctx does not end it;
// Close does.
func (h Host) Shell(ctx context.Context) (ShellConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.Bin = "sh"
	conn, err := h.dial()
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Run runs gc with these words on the host and returns its exit status. A *HostError if
// ssh failed or gc was not found. The words are for the shell there: the caller quotes
// them.
func (h Host) Run(ctx context.Context, stdout, stderr io.Writer, words ...string) (int, error) {
	argv := h.argv(words...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdout, &said, hostLast/4
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil && !errors.As(err, &exit):
		return 0, fmt.Errorf("%w: %s: %w", api.ErrUnreachable, h, err)
	}
	status := cmd.ProcessState.ExitCode()
	if status == hostFailed || status == hostNoGC || status < 0 {
		last := new(tail)
		_, _ = last.Write(said.Bytes()) // never fails
		return 0, &HostError{Host: h.String(), Status: status, Output: last.String()}
	}
	_, err = stderr.Write(said.Bytes())
	return status, err
}
