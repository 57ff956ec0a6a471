package sshd

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// link is the state of the way to a host.
type link struct {
	faults bool
	served sync.WaitGroup // connections and the listener

	mu    sync.Mutex
	down  bool
	flows chan struct{} // closed while bytes flow
	delay time.Duration
	conns map[net.Conn]*connection
}

// connection is one that an sshd serves.
type connection struct {
	sshd *exec.Cmd
	cut  chan struct{} // closed by Cut, or at the end
	ends bool          // cut is closed; guarded by link.mu
}

// end is called with link.mu held.
func (c *connection) end() {
	if !c.ends {
		c.ends = true
		close(c.cut)
	}
}

// forget ends a connection that was served.
func (l *link) forget(conn net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conns[conn].end()
	delete(l.conns, conn)
}

func (l *link) open(faults bool) {
	l.faults, l.conns, l.flows = faults, map[net.Conn]*connection{}, make(chan struct{})
	close(l.flows)
	l.served.Add(1)
}

func (l *link) wait() { l.served.Wait() }

// Down cuts every connection and refuses others. What runs there runs on.
func (h *Host) Down() {
	h.link.mu.Lock()
	h.link.down = true
	h.link.mu.Unlock()
	h.Cut()
}

// Up ends Down.
func (h *Host) Up() {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	h.link.down = false
}

// Cut ends every connection, at once and for both ends.
func (h *Host) Cut() {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	for conn, c := range h.link.conns {
		c.end()
		tcp := conn.(*net.TCPConn)
		_ = tcp.CloseRead() // the end of the peer may have come first
		_ = tcp.CloseWrite()
		_ = syscall.Kill(-c.sshd.Process.Pid, syscall.SIGKILL)
	}
}

// Connections returns how many ssh connections there are.
func (h *Host) Connections() int {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	return len(h.link.conns)
}

// Stall stops all bytes without an end of a connection, as a lost route does. It
// needs Options.Faults.
func (h *Host) Stall() {
	h.needFaults()
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	if h.link.flowing() {
		h.link.flows = make(chan struct{})
	}
}

// Resume ends Stall; the bytes of the meantime arrive.
func (h *Host) Resume() {
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	if !h.link.flowing() {
		close(h.link.flows)
	}
}

// Delay makes every byte arrive that much later, in each direction. It needs
// Options.Faults.
func (h *Host) Delay(d time.Duration) {
	h.needFaults()
	h.link.mu.Lock()
	defer h.link.mu.Unlock()
	h.link.delay = d
}

func (h *Host) needFaults() {
	h.t.Helper()
	if !h.link.faults {
		h.t.Fatal("sshd: this needs Options.Faults")
	}
}

// flowing is called with mu held.
func (l *link) flowing() bool {
	select {
	case <-l.flows:
		return true
	default:
		return false
	}
}

// serve starts an sshd per connection, as inetd does.
func (h *Host) serve() {
	defer h.link.served.Done()
	for {
		conn, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.link.served.Add(1)
		go h.connection(conn)
	}
}

// connection serves one connection until its sshd has ended and the client has all
// that it said, or until Cut.
func (h *Host) connection(conn net.Conn) {
	defer h.link.served.Done()
	defer conn.Close()
	c := &connection{cut: make(chan struct{})}
	far, err := h.startSSHD(conn, c)
	if err != nil {
		h.t.Errorf("sshd of %s: %v", h.Name, err)
	}
	if c.sshd == nil {
		if far != nil {
			_ = far.Close()
		}
		return
	}
	var in, out sync.WaitGroup
	if far != nil {
		in.Go(func() { h.link.pump(far, conn, c.cut) })
		out.Go(func() { h.link.pump(conn, far, c.cut) })
	}
	_ = c.sshd.Wait() // how a client leaves is its own affair
	out.Wait()
	h.link.forget(conn)
	_ = conn.Close()
	if far != nil {
		_ = far.Close()
	}
	in.Wait()
}

// startSSHD starts the sshd of c unless the link is down. With Faults it returns the
// stream to it.
func (h *Host) startSSHD(conn net.Conn, c *connection) (far net.Conn, _ error) {
	stream, far, err := h.stream(conn)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	log, err := os.OpenFile(filepath.Join(h.base, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return far, err
	}
	defer log.Close()
	h.link.mu.Lock() // a Cut sees it
	defer h.link.mu.Unlock()
	if h.link.down {
		return far, nil
	}
	argv := []string{h.program, "-i", "-e", "-f", filepath.Join(h.base, "sshd_config")}
	if h.ns != nil {
		argv = h.ns.argv(argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stream, stream, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return far, err
	}
	c.sshd = cmd
	h.link.conns[conn] = c
	return far, nil
}

// stream is what sshd talks on: the connection itself, or with Faults a pair whose
// other end is far.
func (h *Host) stream(conn net.Conn) (_ *os.File, far net.Conn, _ error) {
	if !h.link.faults {
		f, err := conn.(*net.TCPConn).File()
		return f, nil, err
	}
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	ours, theirs := os.NewFile(uintptr(pair[0]), "link"), os.NewFile(uintptr(pair[1]), "sshd")
	defer ours.Close()
	if far, err = net.FileConn(ours); err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return theirs, far, nil
}

// chunk is what was read at a time.
type chunk struct {
	at   time.Time
	data []byte
}

// inFlight bounds the chunks on the way.
const inFlight = 256

// pump passes bytes on, each after the delay and never during a stall, until their
// end or the cut.
func (l *link) pump(to, from net.Conn, cut <-chan struct{}) {
	way := make(chan chunk, inFlight)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(way)
		read(from, way, cut)
	})
	for c := range way {
		if !l.pass(c, cut) {
			break
		}
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // the peer may be gone
	}
	if half, ok := from.(interface{ CloseRead() error }); ok {
		_ = half.CloseRead() // the reader ends
	}
	for range way {
	}
	reader.Wait()
}

func read(from net.Conn, way chan<- chunk, cut <-chan struct{}) {
	for {
		buf := make([]byte, 32<<10)
		n, err := from.Read(buf)
		if n > 0 {
			select {
			case way <- chunk{time.Now(), buf[:n]}:
			case <-cut:
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// pass waits until a chunk may arrive; false if the connection is cut.
func (l *link) pass(c chunk, cut <-chan struct{}) bool {
	l.mu.Lock()
	flows, delay := l.flows, l.delay
	l.mu.Unlock()
	select {
	case <-flows:
	case <-cut:
		return false
	}
	late := time.NewTimer(delay - time.Since(c.at))
	defer late.Stop()
	select {
	case <-late.C: // at once without a delay
		return true
	case <-cut:
		return false
	}
}
