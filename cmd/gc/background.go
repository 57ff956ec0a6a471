package main

import (
	"context"
	"os"
	"sync"

	"gascity.dev/gc/internal/process"
	"gascity.dev/gc/mux"
)

// commands are the background commands of this machine's multiplexer as a
// controller sees them. It starts none: without one there is nothing to tell.
type commands struct {
	mu     sync.Mutex
	client *mux.Client // finds a server that was started again by itself
}

func (b *commands) connect(ctx context.Context) (*mux.Client, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.client != nil {
		return b.client, nil
	}
	paths, err := mux.DefaultPaths(os.Getenv)
	if err == nil {
		b.client, err = mux.Dial(ctx, paths)
	}
	return b.client, err
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
