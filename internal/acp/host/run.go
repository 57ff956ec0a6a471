package host

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/acp/wire"
)

// mark is the host's argument; it is not for people.
const mark = "--gc-internal-acp"

// Args are the arguments, after the program, that make it the host of a launch file.
func Args(file string) []string { return []string{mark, file} }

// Is reports whether the process was started as a host. main checks it first.
func Is(argv []string) bool { return len(argv) >= 3 && argv[1] == mark }

// Run is the whole life of a host; it returns the exit status: the agent's.
func Run(argv []string) int {
	var status int
	var err error
	switch {
	case argv[2] == receive:
		err = runReceive(os.Stdin, os.Stdout)
	case argv[2] == entries && len(argv) == 5:
		err = runEntries(argv[3], argv[4], os.Stdout)
	default:
		status, err = run(argv[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gc-acp:", err)
		return 1
	}
	return status
}

func run(file string) (status int, err error) {
	l, err := control.TakeLaunch(file)
	if err != nil {
		return 0, err
	}
	path := os.Getenv(control.SocketVar)
	if path == "" {
		return 0, fmt.Errorf("%s is not set: the session was made without a control socket", control.SocketVar)
	}
	ln, err := control.Listen(path)
	if err != nil {
		return 0, err
	}
	defer removeSocket(path)
	s, err := openScreen(os.Stdin, os.Stdout, os.Getenv(control.NonceVar))
	if err != nil {
		return 0, err
	}
	defer s.close()
	h, err := newHost(l, s)
	if err != nil {
		return 0, err
	}
	return h.live(ln)
}

// live starts the agent and handles what happens until it has ended.
func (h *host) live(ln net.Listener) (int, error) {
	p, err := startProcess(h.launch)
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", h.launch.Command, err)
	}
	h.proc = p
	opts := wire.Options{Junk: h.junk}
	if h.launch.Record {
		w, err := transcript.NewWire(h.launch.Dir)
		if err != nil {
			return 0, err
		}
		defer w.Close()
		opts.Record = w.Add
	}
	h.peer = newPeer(wire.New(p.out, p.in, opts))
	served := make(chan error, 1)
	go func() { served <- h.server.Serve(ln) }()
	h.start.begin()
	h.changed()
	h.flush()
	h.events()
	h.flush()
	if h.runs.set != nil {
		h.runs.set.Close()
	}
	close(h.loop.done)
	h.screen.finish(h.frame())
	h.peer.conn.Close()
	ln.Close()
	h.server.Close()
	h.record.w.Close()
	return h.life.status(), <-served
}

// junk keeps lines that are no messages beside the agent's standard error.
func (h *host) junk(line []byte) {
	_, _ = h.proc.stderr.Write(append(line[:len(line):len(line)], '\n')) // never fails
}

// events handles one thing after the other until the agent has ended.
func (h *host) events() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGWINCH)
	defer signal.Stop(signals)
	messages, gone := h.peer.conn.Messages(), h.proc.gone
	for messages != nil || gone != nil || h.life.leftover() {
		select {
		case m, ok := <-messages:
			if !ok {
				messages = nil
				h.life.silent()
				break
			}
			h.message(m)
		case <-gone:
			gone = nil
			h.loop.after(stderrDelay, h.peer.conn.Close) // a grandchild may hold the pipe
		case f := <-h.loop.work:
			f()
		case keys := <-h.screen.keys:
			h.typed(keys)
		case <-h.screen.timer.C:
			h.screen.paint(h.frame())
		case <-h.screen.written:
			h.screen.busy = false
		case s := <-signals:
			h.signalled(s)
		}
		if messages == nil && gone == nil && !h.life.over {
			h.life.over = true
			h.life.ended()
		}
		h.flush()
		h.trimmer.Note()
	}
	for _, c := range h.life.waiting {
		c <- nil
	}
}

// signalled handles a signal to the host.
func (h *host) signalled(s os.Signal) {
	if s == syscall.SIGWINCH {
		h.screen.now()
		return
	}
	h.life.close(make(chan *control.Error, 1))
}
