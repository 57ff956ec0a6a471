package tmux

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"
)

// runner carries out one command of tmux and returns the lines of its answer.
type runner interface {
	run(ctx context.Context, words ...string) ([]string, error)
}

// listening reports whether somebody listens at the socket.
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

// fewQueries is how many queries go through a client of their own. Who asks no
// more than that, as most commands do, is spared the connection.
const fewQueries = 8

// runner is the connection where there is one. It is opened after a few
// queries, beside them, and never while a notice could be on its way: see
// [Provider.quiet].
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

// How long nobody tries again to connect.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// open makes the connection. It is not cut short, not even by a server that
// hangs: one that lost its client now would crash.
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

// connect opens a connection to a server that is there, attached to the holder.
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

// drop forgets a connection that was lost.
func (p *Provider) drop(c *control) {
	p.mu.Lock()
	if p.conn == c {
		p.conn, p.asked, p.notBefore, p.pause = nil, 0, time.Time{}, firstPause
	}
	p.mu.Unlock()
	c.close()
}

// Close ends the connection; the sessions go on.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	opened := make(chan struct{})
	go func() { p.tasks.Wait(); close(opened) }()
	select {
	case <-opened:
	case <-time.After(leaveLimit): // a server that hangs
	}
	p.disconnect()
	return nil
}

// disconnect ends the connection when there is one.
func (p *Provider) disconnect() {
	p.mu.Lock()
	c := p.conn
	p.conn, p.asked = nil, 0
	p.mu.Unlock()
	if c != nil {
		p.leave(c)
	}
}

// leave ends a connection while nobody connects: the server tells everybody.
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

// leaveLimit is how long the end of a provider may wait for a connection that
// is being made.
const leaveLimit = 2 * time.Second

// query runs one command that may be repeated safely.
func (p *Provider) query(ctx context.Context, words ...string) ([]string, error) {
	for begin := time.Now(); ; {
		lines, err := p.try(ctx, words)
		if !errors.Is(err, errLost) || time.Since(begin) > lostLimit {
			return lines, convert(err)
		}
		// A server that is ending still takes connections for a moment.
		if serr := sleep(ctx, lostPause); serr != nil {
			return nil, convert(errors.Join(err, serr))
		}
	}
}

// How long, and how far apart, a query is made while its server goes away.
const (
	lostLimit = 5 * time.Second
	lostPause = 5 * time.Millisecond
)

// once runs one command that is never repeated. Where the answer is lost, it is
// what became of the target.
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
