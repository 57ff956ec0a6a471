package tmux

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
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
	if c == nil {
		p.asked++
		if p.asked > fewQueries && !p.opening && !p.closed && time.Now().After(p.notBefore) {
			p.opening = true
			p.tasks.Go(func() { p.open(context.WithoutCancel(ctx)) })
		}
	}
	p.mu.Unlock()
	if c != nil {
		return c, nil
	}
	if err := p.listening(ctx); err != nil {
		return nil, err
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
	var c *control
	release, err := p.quiet(ctx)
	if err == nil {
		c, err = openControl(ctx, p.o.Binary, p.environ(), p.serverArgs("-C", "attach-session", "-t", "="+holder)...)
		release()
	}
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

// drop forgets a connection that was lost.
func (p *Provider) drop(c *control) {
	p.mu.Lock()
	if p.conn == c {
		p.conn, p.asked, p.notBefore, p.pause = nil, 0, time.Time{}, firstPause
	}
	p.mu.Unlock()
	c.close()
}

// Close ends the connection; the server and its sessions go on.
func (p *Provider) Close() error {
	p.mu.Lock()
	c := p.conn
	p.conn, p.closed = nil, true
	p.mu.Unlock()
	opened := make(chan struct{})
	go func() { p.tasks.Wait(); close(opened) }()
	select {
	case <-opened:
	case <-time.After(leaveLimit): // a server that hangs
	}
	if c != nil {
		p.leave(c)
	}
	return nil
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
	defer release()
	// The next command is answered after the notice of the last client's end.
	_, _ = oneShot{p}.run(ctx, "has-session", "-t", "="+holder)
}

// leaveLimit is how long the end of a provider may wait for a connection that
// is being made.
const leaveLimit = 2 * time.Second

// ensure brings a server up that has its settings and its holder. The caller
// holds the lock of [Provider.noticing], as long as the server must not end for
// being empty.
func (p *Provider) ensure(ctx context.Context) error {
	p.mu.Lock()
	ready := p.ready
	p.mu.Unlock()
	err := p.listening(ctx)
	if err == nil && ready {
		return nil
	}
	if err != nil && !errors.Is(err, errNoServer) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(p.o.Socket), 0o700); err != nil {
		return err
	}
	if _, err := (oneShot{p}).run(ctx, "has-session", "-t", "="+holder); err != nil {
		err := p.setUp(ctx)
		var refused *commandError
		if err != nil && !(errors.As(err, &refused) && refused.duplicate()) {
			return err
		}
	}
	p.mu.Lock()
	p.ready = true
	p.mu.Unlock()
	return nil
}

// setUp makes the settings and then the holder, in one command: who sees the
// holder sees the settings.
func (p *Provider) setUp(ctx context.Context) error {
	words := []string{"start-server"}
	for _, s := range settings {
		words = append(append(words, separator), s...)
	}
	// The program of the holder only waits.
	words = append(words, separator, "new-session", "-d", "-s", holder, "-x", "80", "-y", "24", "-c", "/", "exec cat >/dev/null")
	_, err := oneShot{p}.commands(ctx, words)
	return err
}

// settings are the server's options. Those that an older tmux does not know
// are passed over (-q).
var settings = [][]string{
	{"set-option", "-qs", "exit-empty", "off"},
	{"set-option", "-qs", "escape-time", "20"},
	{"set-option", "-qg", "default-terminal", "screen-256color"},
	{"set-option", "-qg", "mouse", "off"},
	{"set-option", "-qg", "update-environment", ""},
	{"set-option", "-qg", "prefix", "C-b"},
	{"set-option", "-qg", "status-interval", "0"},
	{"set-option", "-qg", "status-left", " #{@gc_city} #{@gc_agent} "},
	{"set-option", "-qg", "status-left-length", "120"},
	{"set-option", "-qg", "status-right", ""},
	{"set-option", "-qg", "status-style", "default"},
	{"set-option", "-qg", "window-status-format", ""},
	{"set-option", "-qg", "window-status-current-format", ""},
	{"set-option", "-qg", "destroy-unattached", "off"},
	{"set-option", "-qwg", "remain-on-exit", "on"},
	{"set-option", "-qwg", "remain-on-exit-format", ""},
	{"set-option", "-qwg", "monitor-activity", "off"},
	{"set-option", "-qwg", "monitor-bell", "off"},
	{"set-option", "-qwg", "allow-rename", "off"},
	{"set-option", "-qwg", "automatic-rename", "off"},
	{"set-option", "-qwg", "aggressive-resize", "off"},
	{"unbind-key", "-a", "-T", "root"},
	{"unbind-key", "-a", "-T", "prefix"},
	{"bind-key", "-T", "prefix", "d", "detach-client"},
	{"bind-key", "-T", "prefix", "C-b", "send-prefix"},
}

// query runs one command that may be repeated safely.
func (p *Provider) query(ctx context.Context, words ...string) ([]string, error) {
	var err error
	for range tries {
		var lines []string
		lines, err = p.try(ctx, words)
		if !errors.Is(err, errLost) {
			return lines, convert(err)
		}
		// A server that is ending still takes connections for a moment.
		if serr := sleep(ctx, lostPause); serr != nil {
			return nil, convert(errors.Join(err, serr))
		}
	}
	return nil, convert(err)
}

// How often, and how far apart, a query is made while its server goes away.
const (
	tries     = 5
	lostPause = 20 * time.Millisecond
)

// once runs one command that is never repeated.
func (p *Provider) once(ctx context.Context, words ...string) ([]string, error) {
	lines, err := p.try(ctx, words)
	if errors.Is(err, errLost) && errors.Is(p.listening(ctx), errNoServer) {
		err = errNoServer // it went, with everything that was in it
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

// all runs commands that may be repeated safely.
func (p *Provider) all(ctx context.Context, list [][]string) error {
	r, err := p.runner(ctx)
	if o, ok := r.(oneShot); ok && err == nil {
		var words []string
		for _, l := range list {
			words = append(append(words, arguments(l)...), separator)
		}
		_, err = o.commands(ctx, words[:len(words)-1])
		return convert(err)
	}
	for _, l := range list {
		if _, err := p.query(ctx, l...); err != nil {
			return err
		}
	}
	return nil
}

// noticed runs one command that tmux tells every connection about.
func (p *Provider) noticed(ctx context.Context, words ...string) ([]string, error) {
	release, err := p.noticing(ctx)
	if err != nil {
		return nil, convert(err)
	}
	defer release()
	return p.once(ctx, words...)
}
