package main

import (
	"context"
	"io"

	"gascity.dev/gc/cmd/gc/internal/away"
	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/outbox"
	"gascity.dev/gc/mux/client"
)

// farOutboxes are the outboxes of a city's other machines, over the streams that its
// controller holds.
type farOutboxes struct {
	providers *backend.Set
	made      map[string]*away.Outbox // by machine
}

// of implements controller.Options.Outboxes.
func (f *farOutboxes) of(city *config.City) []outbox.Outbox {
	var list []outbox.Outbox
	for _, machine := range backend.Hosts(city) {
		box := f.made[machine]
		if box == nil {
			box = &away.Outbox{Machine: machine, Dial: func(ctx context.Context) (*client.Client, error) {
				return f.providers.MuxOn(ctx, machine)
			}}
			if f.made == nil {
				f.made = map[string]*away.Outbox{}
			}
			f.made[machine] = box
		}
		list = append(list, box)
	}
	return list
}

// throughController opens the stream to another machine through the controller of a city,
// which holds one. It is not there while no controller runs, or one that is too old or does
// not answer.
func throughController(ctx context.Context, city, host string) (io.ReadWriteCloser, error) {
	rw, err := cityapi.Stream(ctx, city, host)
	if err != nil {
		return nil, ctx.Err()
	}
	return rw, nil
}
