package away

import (
	"context"
	"sync"
	"time"

	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/mux/client"
)

// takeWait is how long one request waits for a message.
const takeWait = 2 * time.Minute

// Outbox is the outbox of a multiplexer on another machine, for the controller of a city.
type Outbox struct {
	Machine string // for people
	// Dial connects to the multiplexer, and again after an error. It should start one if
	// there is none: messages may be waiting on its disk since the machine was rebooted.
	Dial func(ctx context.Context) (*client.Client, error)

	mu     sync.Mutex
	client *client.Client
}

var _ outbox.Outbox = (*Outbox)(nil)

// String implements [outbox.Outbox].
func (o *Outbox) String() string { return o.Machine }

// connect returns the client, which is made once.
func (o *Outbox) connect(ctx context.Context) (*client.Client, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client != nil {
		return o.client, nil
	}
	c, err := o.Dial(ctx)
	if err == nil {
		o.client = c
	}
	return c, err
}

// failed drops the client after an error: the next call dials anew, and starts a
// multiplexer that has ended.
func (o *Outbox) failed(c *client.Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client == c {
		o.client = nil
		_ = c.Close()
	}
}

// Take implements [outbox.Outbox].
func (o *Outbox) Take(ctx context.Context, city string, after uint64) ([]outbox.Message, error) {
	c, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := c.Outbox(ctx, city, after, takeWait)
	if err != nil {
		o.failed(c)
		return nil, err
	}
	list := make([]outbox.Message, 0, len(entries))
	for _, e := range entries {
		list = append(list, outbox.Message{ID: e.ID, Place: e.Place, Body: e.Body})
	}
	return list, nil
}

// Delete implements [outbox.Outbox].
func (o *Outbox) Delete(ctx context.Context, city, id string) error {
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	if err = c.TakeFromOutbox(ctx, city, id); err != nil {
		o.failed(c)
	}
	return err
}

// Close closes the connection.
func (o *Outbox) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client == nil {
		return nil
	}
	c := o.client
	o.client = nil
	return c.Close()
}
