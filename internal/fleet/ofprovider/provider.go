// Package ofprovider is the sessions of any session provider as a fleet, for the
// controller: internal/fleet/ofcity makes the fleet of a city of them, which
// internal/fleet/wire serves as /v1/city.
//
// Sessions in a multiplexer, here, on another machine or in a pod, are shown by that.
// Those of other providers have a screen of text, read at a bounded rate and only while
// somebody looks. It keeps nothing that must last; the provider owns the connections.
package ofprovider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/fleet/ofmux"
	"gascity.dev/gc/internal/screens"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// muxed is a provider whose sessions are in a multiplexer.
type muxed interface {
	Client(ctx context.Context) (*client.Client, error)
}

// Sessions are the sessions of a provider. Their ids are their names. It does not implement
// what is about all sessions of a backend: a city knows its own.
type Sessions struct {
	provider runtime.Provider
	local    fleet.Fleet // for background commands
	hub      *screens.Hub

	mu    sync.Mutex // guards muxes
	muxes map[muxed]*ofmux.Mux
}

var _ fleet.Fleet = (*Sessions)(nil)

// Open returns the sessions of a provider. local is the fleet of this machine's multiplexer,
// whose background commands are shown; Close closes it.
func Open(p runtime.Provider, local fleet.Fleet) *Sessions {
	s := &Sessions{provider: p, local: local, muxes: map[muxed]*ofmux.Mux{}}
	s.hub = screens.NewHub(source{s})
	return s
}

// Close implements [fleet.Fleet].
func (s *Sessions) Close() error {
	s.hub.Close()
	err := s.local.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.muxes {
		err = errors.Join(err, m.Close())
	}
	return err
}

// mux returns the multiplexer of a session; nil if it is in none.
func (s *Sessions) mux(ctx context.Context, id string) (*ofmux.Mux, error) {
	p, ok, err := runtime.AsFor[muxed](ctx, s.provider, id)
	if err != nil || !ok {
		return nil, wrong(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.muxes[p]
	if m == nil {
		m = ofmux.Borrow("", "", p.Client)
		s.muxes[p] = m
	}
	return m, nil
}

// inMux is mux, and ErrUnsupported for a session that is in none.
func (s *Sessions) inMux(ctx context.Context, id string) (*ofmux.Mux, error) {
	m, err := s.mux(ctx, id)
	if err == nil && m == nil {
		err = fmt.Errorf("%w: the session is not in a multiplexer", fleet.ErrUnsupported)
	}
	return m, err
}

// wrong is an error in the words of the fleet.
func wrong(err error) error {
	for _, w := range []struct{ of, is error }{
		{runtime.ErrSessionNotFound, fleet.ErrNotFound}, {runtime.ErrQuestion, fleet.ErrChanged}, {runtime.ErrUnsupported, fleet.ErrUnsupported},
		{runtime.ErrInteractionUnsupported, fleet.ErrUnsupported}, {runtime.ErrBackendUnreachable, fleet.ErrAway},
	} {
		if errors.Is(err, w.of) {
			return errors.Join(w.is, err)
		}
	}
	return err
}

// Load implements [fleet.Fleet].
func (s *Sessions) Load(ctx context.Context) (fleet.Load, error) { return s.local.Load(ctx) }

// Recording implements [fleet.Fleet].
func (s *Sessions) Recording(ctx context.Context, id string) (io.ReadCloser, error) {
	m, err := s.inMux(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.Recording(ctx, id)
}

// Nudge implements [fleet.Fleet].
func (s *Sessions) Nudge(ctx context.Context, id, text string) (fleet.Receipt, error) {
	r, err := s.provider.Nudge(ctx, id, []runtime.ContentBlock{{Type: runtime.BlockText, Text: text}})
	return fleet.Receipt{State: string(r.State), By: r.By, Detail: r.Detail, Changed: r.Changed}, wrong(err)
}

// Answer implements [fleet.Fleet].
func (s *Sessions) Answer(ctx context.Context, id string, a fleet.Answer) error {
	p, ok, err := runtime.AsFor[runtime.InteractionProvider](ctx, s.provider, id)
	if err != nil || !ok {
		return wrong(errors.Join(err, unlessErr(err, runtime.ErrInteractionUnsupported)))
	}
	q, err := p.Pending(ctx, id)
	switch {
	case err != nil:
		return wrong(err)
	case q == nil:
		return fmt.Errorf("%w: it asks nothing now", fleet.ErrChanged)
	case q.RequestID != a.Request:
		return fmt.Errorf("%w: it now asks %q", fleet.ErrChanged, q.Prompt)
	}
	err = p.Respond(ctx, id, runtime.Answer{RequestID: a.Request, Action: a.Option, Text: a.Text})
	if a.Text != "" && errors.Is(err, runtime.ErrInteractionUnsupported) {
		return s.typeAnswer(ctx, id, a.Text)
	}
	return wrong(err)
}

// typeAnswer answers a question on a terminal with a text, as a message.
func (s *Sessions) typeAnswer(ctx context.Context, id, text string) error {
	r, err := s.Nudge(ctx, id, text)
	if err == nil && r.State != fleet.Submitted {
		err = fmt.Errorf("%w: the text is %s: %s", fleet.ErrRefused, r.State, r.Detail)
	}
	return err
}

// unlessErr returns other if there is no error.
func unlessErr(err, other error) error {
	if err != nil {
		return nil
	}
	return other
}

// Do implements [fleet.Fleet].
func (s *Sessions) Do(ctx context.Context, id string, a fleet.Action) error {
	switch a {
	case fleet.Interrupt:
		return wrong(s.provider.Interrupt(ctx, id))
	case fleet.Seen:
		p, ok, err := runtime.AsFor[runtime.SeenProvider](ctx, s.provider, id)
		if err != nil || !ok {
			return wrong(errors.Join(err, unlessErr(err, runtime.ErrUnsupported)))
		}
		return wrong(p.Seen(ctx, id))
	}
	return fleet.ErrUnsupported
}

// Explain implements [fleet.Fleet].
func (s *Sessions) Explain(ctx context.Context, id string) (fleet.Explanation, error) {
	p, ok, err := runtime.AsFor[runtime.ActivityProvider](ctx, s.provider, id)
	if err != nil || !ok {
		return fleet.Explanation{}, wrong(errors.Join(err, unlessErr(err, runtime.ErrUnsupported)))
	}
	act, err := p.Activity(ctx, id)
	if err != nil {
		return fleet.Explanation{}, wrong(err)
	}
	doing := act.State
	if act.Kind != "" {
		doing += " (" + act.Kind + ")"
	}
	x := fleet.Explanation{Facts: []fleet.Fact{{Name: "activity", Text: doing}}}
	if act.Source != "" {
		x.Facts = append(x.Facts, fleet.Fact{Name: "because", Text: act.Source + ": " + act.Evidence})
	}
	for _, f := range act.Sources {
		x.Evidence = append(x.Evidence, fleet.Finding{Source: f.Source, State: f.State, Kind: f.Kind, Since: f.Since, Text: f.Evidence})
	}
	return x, nil
}

// Commands implements [fleet.Fleet].
func (s *Sessions) Commands(ctx context.Context) ([]fleet.Command, error) {
	return s.local.Commands(ctx)
}

// Output implements [fleet.Fleet].
func (s *Sessions) Output(ctx context.Context, command string, p fleet.Page) (fleet.Output, error) {
	return s.local.Output(ctx, command, p)
}

// Watch implements [fleet.Fleet].
func (s *Sessions) Watch(context.Context, func(fleet.Snapshot)) error { return fleet.ErrUnsupported }

// Events implements [fleet.Fleet].
func (s *Sessions) Events(context.Context, string, func(fleet.Event) error) error {
	return fleet.ErrUnsupported
}

// Queue implements [fleet.Fleet].
func (s *Sessions) Queue(context.Context, string, string) (fleet.Message, error) {
	return fleet.Message{}, fleet.ErrUnsupported
}

// CancelMessage implements [fleet.Fleet].
func (s *Sessions) CancelMessage(context.Context, string) error { return fleet.ErrUnsupported }

// RetryMessage implements [fleet.Fleet].
func (s *Sessions) RetryMessage(context.Context, string) error { return fleet.ErrUnsupported }
