package keeper

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// conn carries frames with descriptors over a unix stream. One goroutine
// reads; send may be called from any.
type conn struct {
	conn *net.UnixConn
	buf  []byte // bytes read but not used yet
	fds  []int  // descriptors received but not used yet
	oob  []byte
	cut  bool // descriptors were lost in transit: this process has too many

	mu sync.Mutex // one frame at a time
}

// newConn takes over the descriptor of a connected unix stream socket.
func newConn(fd int) (*conn, error) {
	f := os.NewFile(uintptr(fd), "keeper")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	uc, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, fmt.Errorf("%w: not a unix socket", ErrProtocol)
	}
	return &conn{conn: uc, oob: make([]byte, unix.CmsgSpace(4*maxKeeperFDs))}, nil
}

// send writes one frame. The descriptors stay the caller's.
func (c *conn) send(kind uint16, body []byte, fds ...int) error {
	b, err := appendFrame(make([]byte, 0, frameHeader+len(body)), kind, body, len(fds))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	n, oobn, err := c.conn.WriteMsgUnix(b, oob, nil)
	if err != nil {
		return err
	}
	if oobn != len(oob) {
		return io.ErrShortWrite
	}
	for n < len(b) {
		m, err := c.conn.Write(b[n:])
		if err != nil {
			return err
		}
		n += m
	}
	return nil
}

// recv reads one frame; its descriptors belong to the caller, close-on-exec.
// The body is valid until the next recv.
func (c *conn) recv() (frame, error) {
	if err := c.fill(frameHeader); err != nil {
		return frame{}, err
	}
	size, kind, nfds, err := frameSize(c.buf)
	if err != nil {
		return frame{}, err
	}
	if err := c.fill(frameHeader + size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return frame{}, err
	}
	if int(nfds) > len(c.fds) {
		if !c.cut {
			return frame{}, fmt.Errorf("%w: %d of %d descriptors", ErrProtocol, len(c.fds), nfds)
		}
		// The kernel keeps the order, so these descriptors are this frame's.
		c.dropFDs()
		c.cut = false
		f := frame{kind: kind, body: c.buf[frameHeader : frameHeader+size], lost: true}
		c.buf = c.buf[frameHeader+size:]
		return f, nil
	}
	f := frame{kind: kind, body: c.buf[frameHeader : frameHeader+size], fds: c.fds[:nfds:nfds]}
	c.fds = c.fds[nfds:]
	c.buf = c.buf[frameHeader+size:]
	return f, nil
}

// fill reads until n bytes are buffered.
func (c *conn) fill(n int) error {
	if len(c.buf) >= n {
		return nil
	}
	if cap(c.buf) < n || cap(c.buf)-len(c.buf) < 512 {
		grown := make([]byte, len(c.buf), max(n, 4096))
		copy(grown, c.buf)
		c.buf = grown
	}
	for len(c.buf) < n {
		m, oobn, flags, _, err := c.conn.ReadMsgUnix(c.buf[len(c.buf):cap(c.buf)], c.oob)
		if err != nil {
			return err
		}
		c.cut = c.cut || flags&unix.MSG_CTRUNC != 0
		if oobn > 0 {
			if err := c.rights(c.oob[:oobn]); err != nil {
				return err
			}
		}
		if m == 0 && oobn == 0 {
			return io.EOF
		}
		c.buf = c.buf[:len(c.buf)+m]
	}
	return nil
}

func (c *conn) rights(oob []byte) error {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return err
	}
	for i := range msgs {
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue // another kind of control message
		}
		c.fds = append(c.fds, fds...)
	}
	return nil
}

// Close ends the connection; a blocked recv returns.
func (c *conn) Close() { c.conn.Close() }

// dropFDs closes descriptors that were never claimed. Call it only after the
// reader has ended.
func (c *conn) dropFDs() {
	for _, fd := range c.fds {
		unix.Close(fd)
	}
	c.fds = nil
}
