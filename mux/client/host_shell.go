package client

import (
	"context"
	"io"
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
