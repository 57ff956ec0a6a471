package elsewhere

import (
	"context"
	"os"
	"sync"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// commands gives the controller access to the background commands of one
// multiplexer: this machine's, which it never starts, or what dial connects to.
type commands struct {
	dial func(ctx context.Context) (*client.Client, error) // nil: this machine's

	mu     sync.Mutex
	client *client.Client // reconnects to a restarted server
}

func (b *commands) connect(ctx context.Context) (*client.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		return b.client, nil
	}
	dial := b.dial
	if dial == nil {
		dial = dialHere
	}
	c, err := dial(ctx)
	if err == nil {
		b.client = c
	}
	return c, err
}

// close closes the connection.
func (b *commands) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		_ = b.client.Close()
		b.client = nil
	}
}

func dialHere(ctx context.Context) (*client.Client, error) {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return nil, err
	}
	return client.Dial(ctx, paths)
}

// Follow implements controller.Background.
func (b *commands) Follow(ctx context.Context, changed func()) error {
	c, err := b.connect(ctx)
	if err != nil {
		return err
	}
	stream, err := c.Events(ctx, "")
	if err != nil {
		return err
	}
	defer stream.Close()
	changed()
	for {
		e, err := stream.Next()
		if err != nil {
			return err
		}
		if e.Exec != nil && e.Exec.Owner != "" && e.Exec.Type != process.EventStarted {
			changed()
		}
	}
}

// Away implements controller.Background.
func (b *commands) Away(ctx context.Context) ([]process.Delivery, error) {
	c, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.DeliveriesAway(ctx)
}

// Dead implements controller.Background.
func (b *commands) Dead(ctx context.Context) ([]process.Delivery, error) {
	c, err := b.connect(ctx)
	if err != nil {
		return nil, err
	}
	return c.Deliveries(ctx, "", string(process.Dead))
}

// Claim implements controller.Background.
func (b *commands) Claim(ctx context.Context, owner, by string) (batch string, events []string, text string, err error) {
	c, err := b.connect(ctx)
	if err != nil {
		return "", nil, "", err
	}
	got, err := c.ClaimDeliveries(ctx, owner, by)
	return got.Batch, got.Events, got.Text, err
}

// Settle implements controller.Background.
func (b *commands) Settle(ctx context.Context, batch string, state process.DeliveryState, detail string) error {
	c, err := b.connect(ctx)
	if err != nil {
		return err
	}
	return c.SettleDeliveries(ctx, batch, state, detail)
}
