package native

import (
	"context"
	"errors"
	"fmt"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// Recordings implements runtime.RecordingKeeper.
func (p *Provider) Recordings(ctx context.Context, key, value string) ([]runtime.Recording, error) {
	var infos []api.SessionInfo
	err := p.query(ctx, func(c *client.Client) (err error) {
		infos, err = c.List(ctx, "", true)
		return err
	})
	if gone(err) {
		return nil, nil // without a server there are none
	}
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	var list []runtime.Recording
	var errs []error
	for _, info := range infos {
		if info.Recorded == 0 || !p.o.Sessions.has(info) {
			continue
		}
		var of string
		err := p.query(ctx, func(c *client.Client) (err error) {
			of, err = c.GetMeta(ctx, info.ID, key)
			return err
		})
		if err != nil && !gone(err) {
			errs = append(errs, fmt.Errorf("recording of %s: %w", info.Name, err))
		}
		if err != nil || of != value {
			continue
		}
		list = append(list, runtime.Recording{
			ID: info.ID, Session: info.Name, Running: info.State == api.StateRunning,
			Bytes: info.Recorded, Changed: p.here(ctx, latest(info)),
		})
	}
	return list, errors.Join(errs...)
}

// DropRecording implements runtime.RecordingKeeper.
func (p *Provider) DropRecording(ctx context.Context, r runtime.Recording) error {
	err := p.query(ctx, func(c *client.Client) error { return c.DropRecording(ctx, r.ID) })
	if err != nil && !gone(err) {
		return fmt.Errorf("remove the recording of %s: %w", r.Session, err)
	}
	return nil
}
