package away

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// takeWait is how long one request waits for a message.
const takeWait = 2 * time.Minute

// Outbox is the outbox of a multiplexer on another machine, for the controller of a city.
type Outbox struct {
	Machine string // for people
	// Dial connects to the multiplexer, which answers, and again after an error. It should start one if
	// there is none: messages may be waiting on its disk since the machine was rebooted.
	Dial func(ctx context.Context) (*client.Client, error)

	mu     sync.Mutex
	client *client.Client
}

var (
	_ outbox.Outbox = (*Outbox)(nil)
	_ outbox.Asker  = (*Outbox)(nil)
)

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

// failed drops the client after an error of its request: the next call dials anew, and
// starts a multiplexer that has ended. It returns the error for the caller.
func (o *Outbox) failed(c *client.Client, err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.client == c {
		o.client = nil
		_ = c.Close()
	}
	if errors.Is(err, api.ErrUnreachable) {
		return fmt.Errorf("%w: %w", outbox.ErrLost, err)
	}
	return err
}

// Take implements [outbox.Outbox].
func (o *Outbox) Take(ctx context.Context, city string, after uint64) ([]outbox.Message, error) {
	c, err := o.connect(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := c.Outbox(ctx, city, after, takeWait)
	if err != nil {
		return nil, o.failed(c, err)
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
	if err := c.TakeFromOutbox(ctx, city, id); err != nil {
		return o.failed(c, err)
	}
	return nil
}

// maxAnswers is how many requests of one machine are answered at once.
const maxAnswers = 8

// Serve implements [outbox.Asker].
func (o *Outbox) Serve(ctx context.Context, city string, answer func(ctx context.Context, request []byte) []byte) error {
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	stream, err := c.CityRequests(ctx, city)
	if errors.Is(err, api.ErrVersion) {
		return err // the client is good for messages
	}
	if err != nil {
		return o.failed(c, err)
	}
	defer stream.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answers sync.WaitGroup
	defer answers.Wait()
	places := make(chan struct{}, maxAnswers)
	for {
		q, err := stream.Next()
		if err != nil {
			cancel()
			return o.failed(c, err)
		}
		places <- struct{}{}
		answers.Go(func() {
			defer func() { <-places }()
			_ = c.AnswerCity(ctx, q.ID, answer(ctx, q.Body)) // the program that waits there is told
		})
	}
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
