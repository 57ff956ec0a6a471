package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/ofmux"
	"gascity.dev/gc/internal/fleet/wire"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
)

// hostLimit bounds the question whether a city runs on another machine.
const hostLimit = 10 * time.Second

// openHost returns the fleet of another machine: the city in hostCity, else the only city
// that runs there, else the sessions of its multiplexer.
func (p *place) openHost(ctx context.Context) (fleet.Fleet, error) {
	h, err := client.ParseHost(p.host)
	if err != nil {
		return nil, err
	}
	h.Program, h.Bin, h.Version = os.Getenv("GC_SSH"), p.hostBin, version
	l := link.New(h.String(), h.Stream, many.Hello{Version: version})
	machine := far.NewClient(h.String(), l)
	city := &cityThere{link: l, Client: wire.New(h.Name, h.String(), func(ctx context.Context) (net.Conn, error) {
		return machine.City(ctx, p.hostCity)
	})}
	ctx, cancel := context.WithTimeout(ctx, hostLimit)
	defer cancel()
	served, err := city.Served(ctx)
	if served && err == nil {
		return city, nil
	}
	_ = city.Close() // it shows nothing yet
	if errors.Is(err, far.ErrManyCities) {
		return nil, fmt.Errorf("%w\nhint: --city DIR says which", noAnswer(err))
	}
	if p.hostCity != "" {
		return nil, fmt.Errorf("city %s: %w", p.hostCity, noAnswer(err))
	}
	return ofmux.Open("sessions", h.String(), h.Dial), nil
}

// noAnswer is why a city that was asked for is not served.
func noAnswer(err error) error {
	var there *far.Error
	switch {
	case err == nil:
		return errors.New("its controller is too old: gc stop and gc start there")
	case errors.As(err, &there):
		return there
	}
	return err
}

// cityThere is the fleet of a city on another machine, with the stream to that.
type cityThere struct {
	*wire.Client
	link *link.Link
}

func (c *cityThere) Close() error { return errors.Join(c.Client.Close(), c.link.Close()) }
