package control

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// ErrLost is the error of a request whose connection ended before its reply: the
// host may have carried it out.
var ErrLost = errors.New("lost the connection to the agent's host")

// Client drives a host over one connection. Safe for concurrent use.
type Client struct {
	conn net.Conn

	write sync.Mutex // held for one line

	mu    sync.Mutex
	seq   int64
	calls map[int64]chan Reply
	watch func(State)
	err   error // why the connection ended

	done chan struct{} // closed when it has
}

// NewClient begins a conversation on the connection, which the client then owns.
func NewClient(conn net.Conn) *Client {
	c := &Client{conn: conn, calls: map[int64]chan Reply{}, done: make(chan struct{})}
	go c.read()
	return c
}

// Close ends the connection. What is under way fails with ErrLost.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

// read reads the host's lines until the connection ends.
func (c *Client) read() {
	err := c.readAll()
	c.conn.Close()
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	close(c.done)
}

func (c *Client) readAll() error {
	lines := newLines(c.conn)
	var hello Hello
	if err := lines.next(&hello); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	if hello.Control != Version {
		return fmt.Errorf("the agent's host speaks version %d of the control protocol, this gc version %d", hello.Control, Version)
	}
	for {
		var r Reply
		if err := lines.next(&r); err != nil {
			return fmt.Errorf("%w: %w", ErrLost, err)
		}
		c.dispatch(r)
	}
}

// dispatch passes a reply to its caller, and changes, in order, to the watcher.
func (c *Client) dispatch(r Reply) {
	c.mu.Lock()
	call, watch := c.calls[r.Seq], c.watch
	delete(c.calls, r.Seq)
	c.mu.Unlock()
	switch {
	case r.Seq == 0 && r.State != nil && watch != nil:
		watch(*r.State)
	case call != nil:
		call <- r
	}
}

// call sends a request and waits for its reply.
func (c *Client) call(ctx context.Context, r Request) (Reply, error) {
	reply := make(chan Reply, 1)
	c.mu.Lock()
	c.seq++
	r.Seq = c.seq
	c.calls[r.Seq] = reply
	c.mu.Unlock()
	defer c.forget(r.Seq)
	if err := c.send(ctx, r); err != nil {
		return Reply{}, err
	}
	select {
	case got := <-reply:
		return got, replyError(got)
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	case <-c.done:
	}
	select {
	case got := <-reply: // it came with the last lines
		return got, replyError(got)
	default:
		return Reply{}, c.lost(ctx)
	}
}

// replyError is the error in a reply; a nil *Error must not become an error.
func replyError(r Reply) error {
	if r.Error != nil {
		return r.Error
	}
	return nil
}

func (c *Client) forget(seq int64) {
	c.mu.Lock()
	delete(c.calls, seq)
	c.mu.Unlock()
}

// lost is why the connection ended; that of ctx, whose end closes it.
func (c *Client) lost(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// send writes one request. A host that reads nothing must not hold the caller longer
// than ctx: the connection is of no use then.
func (c *Client) send(ctx context.Context, r Request) error {
	b, err := encode(r)
	if err != nil {
		return err
	}
	c.write.Lock()
	defer c.write.Unlock()
	stop := context.AfterFunc(ctx, func() { c.conn.Close() })
	_, err = c.conn.Write(b)
	stop()
	if err != nil { // the reader knows why
		c.conn.Close()
		<-c.done
		return c.lost(ctx)
	}
	return nil
}

// State returns what the host knows of its agent.
func (c *Client) State(ctx context.Context) (State, error) {
	r, err := c.call(ctx, Request{Op: OpState})
	if err != nil {
		return State{}, err
	}
	if r.State == nil {
		return State{}, errors.New("the agent's host answered without a state")
	}
	return *r.State, nil
}

// Watch calls f with the state now and after every change, in order, until ctx ends
// or the connection does; it always returns an error. f must not call the client.
// A client watches once.
func (c *Client) Watch(ctx context.Context, f func(State)) error {
	c.mu.Lock()
	if c.watch != nil {
		c.mu.Unlock()
		return errors.New("this client watches already")
	}
	c.watch = f
	c.mu.Unlock()
	if _, err := c.call(ctx, Request{Op: OpWatch}); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-c.done:
		return c.lost(ctx)
	}
}

// Nudge delivers a message and waits for its receipt.
func (c *Client) Nudge(ctx context.Context, n Nudge) (Receipt, error) {
	return c.nudge(ctx, OpNudge, n)
}

// Redirect cancels the turn and delivers the message ahead of those that wait.
func (c *Client) Redirect(ctx context.Context, n Nudge) (Receipt, error) {
	return c.nudge(ctx, OpRedirect, n)
}

func (c *Client) nudge(ctx context.Context, op string, n Nudge) (Receipt, error) {
	r, err := c.call(ctx, Request{Op: op, Nudge: &n})
	if err != nil {
		return Receipt{}, err
	}
	if r.Receipt == nil {
		return Receipt{}, errors.New("the agent's host answered without a receipt")
	}
	return *r.Receipt, nil
}

// TakeBack removes a message that waits for the end of a turn. CodeNotFound if it
// was sent, or is unknown.
func (c *Client) TakeBack(ctx context.Context, id string) error {
	_, err := c.call(ctx, Request{Op: OpTakeBack, MessageID: id})
	return err
}

// Respond answers the open question. CodeStale if another one is open, or it has no
// such option.
func (c *Client) Respond(ctx context.Context, a Answer) error {
	_, err := c.call(ctx, Request{Op: OpRespond, Answer: &a})
	return err
}

// Interrupt cancels the turn; it does not wait for its end.
func (c *Client) Interrupt(ctx context.Context) error {
	_, err := c.call(ctx, Request{Op: OpInterrupt})
	return err
}

// Set changes the agent's mode and model; "" leaves one unchanged.
func (c *Client) Set(ctx context.Context, mode, model string) error {
	_, err := c.call(ctx, Request{Op: OpSet, Mode: mode, Model: model})
	return err
}

// End ends the agent, and waits for that.
func (c *Client) End(ctx context.Context) error {
	_, err := c.call(ctx, Request{Op: OpClose})
	return err
}

// encode returns one line of the protocol.
func encode(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(b) >= MaxLine {
		return nil, fmt.Errorf("a message of %d bytes is too long", len(b))
	}
	return append(b, '\n'), nil
}

// lines reads the protocol's lines.
type lines struct{ r *bufio.Scanner }

func newLines(r io.Reader) lines {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 4<<10), MaxLine)
	return lines{s}
}

// next decodes the next line into v. A line without its end does not count.
func (l lines) next(v any) error {
	if !l.r.Scan() {
		if err := l.r.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	return json.Unmarshal(l.r.Bytes(), v)
}
