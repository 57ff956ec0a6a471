package tmux

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"gascity.dev/gc/internal/clock"
)

// runner runs one tmux command and returns the lines of its answer.
type runner interface {
	run(ctx context.Context, words ...string) ([]string, error)
}

// listening returns errNoServer if no server listens at the socket.
func (p *Provider) listening(ctx context.Context) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", p.o.Socket)
	if err == nil {
		return conn.Close()
	}
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		return errNoServer
	}
	return err
}

// fewQueries is how many queries use a client process each. Most commands make no
// more and need no connection.
const fewQueries = 8

// runner returns the connection if there is one. It is opened in the background after
// a few queries, and only while no notice can be on its way: see [Provider.quiet].
func (p *Provider) runner(ctx context.Context) (runner, error) {
	p.mu.Lock()
	c := p.conn
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if err := p.listening(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.asked > fewQueries && !p.opening && !p.closed && time.Now().After(p.notBefore) {
		p.opening = true
		p.tasks.Go(func() { p.open(context.WithoutCancel(ctx)) })
	}
	return oneShot{p}, nil
}

// How long to wait before connecting again.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// open makes the connection. It is never cut short, even if the server hangs: a
// server that loses its client at this moment crashes.
func (p *Provider) open(ctx context.Context) {
	c, err := p.connect(ctx)
	p.mu.Lock()
	p.opening = false
	p.notBefore = time.Now().Add(p.pause)
	p.pause = min(2*p.pause, maxPause)
	closed := p.closed
	if err == nil && !closed {
		p.conn = c
	}
	p.mu.Unlock()
	if err == nil && closed {
		p.leave(c)
	}
}

// connect opens a connection to a running server, attached to the holder session.
func (p *Provider) connect(ctx context.Context) (*control, error) {
	release, err := p.quiet(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := p.listening(ctx); err != nil {
		return nil, err
	}
	return openControl(ctx, p.o.Binary, p.environ(), p.serverArgs(
		"-C", "new-session", "-A", "-s", holder, "-x", "80", "-y", "24", "-c", "/", "exec cat >/dev/null")...)
}

// drop discards a lost connection.
func (p *Provider) drop(c *control) {
	p.mu.Lock()
	if p.conn == c {
		p.conn, p.asked, p.notBefore, p.pause = nil, 0, time.Time{}, firstPause
	}
	p.mu.Unlock()
	c.close()
}

// Close closes the connection; the sessions keep running.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	opened := make(chan struct{})
	go func() { p.tasks.Wait(); close(opened) }()
	select {
	case <-opened:
	case <-time.After(leaveLimit): // the server hangs
	}
	p.disconnect()
	return nil
}

// disconnect closes the connection if there is one.
func (p *Provider) disconnect() {
	p.mu.Lock()
	c := p.conn
	p.conn, p.asked = nil, 0
	p.mu.Unlock()
	if c != nil {
		p.leave(c)
	}
}

// leave closes a connection while no other is being opened: the server notifies all
// of them.
func (p *Provider) leave(c *control) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveLimit)
	defer cancel()
	release, err := p.noticing(ctx)
	c.close()
	if err != nil {
		return
	}
	// The next command is answered after the notice of the last client's end.
	_, _ = oneShot{p}.run(ctx, "list-sessions")
	release()
	p.tidy(ctx)
}

// leaveLimit is how long Close may wait for a connection that is being made.
const leaveLimit = 2 * time.Second

// query runs one command that is safe to repeat.
func (p *Provider) query(ctx context.Context, words ...string) ([]string, error) {
	for begin := time.Now(); ; {
		lines, err := p.try(ctx, words)
		if !errors.Is(err, errLost) || time.Since(begin) > lostLimit {
			return lines, convert(err)
		}
		// A server that is exiting still accepts connections for a moment.
		if serr := clock.Sleep(ctx, lostPause); serr != nil {
			return nil, convert(errors.Join(err, serr))
		}
	}
}

// How long, and how often, a query is repeated while its server exits.
const (
	lostLimit = 5 * time.Second
	lostPause = 5 * time.Millisecond
)

// once runs one command that is never repeated. If the answer is lost, the caller
// checks the target instead.
func (p *Provider) once(ctx context.Context, target string, words ...string) ([]string, error) {
	lines, err := p.try(ctx, words)
	if errors.Is(err, errLost) {
		if _, gerr := p.get(ctx, target); gerr != nil {
			return nil, gerr
		}
	}
	return lines, convert(err)
}

func (p *Provider) try(ctx context.Context, words []string) ([]string, error) {
	r, err := p.runner(ctx)
	if err != nil {
		return nil, err
	}
	lines, err := r.run(ctx, words...)
	if c, ok := r.(*control); ok && errors.Is(err, errLost) {
		p.drop(c)
	}
	return lines, err
}
