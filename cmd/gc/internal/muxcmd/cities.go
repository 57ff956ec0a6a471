package muxcmd

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/names"
	"gascity.dev/gc/internal/far"
)

// connectCity connects to the controller of the city in a directory here; "" is the only
// city of this user that runs.
func connectCity(ctx context.Context, dir string) (net.Conn, error) {
	if dir != "" {
		conn, err := cityapi.Connect(ctx, dir)
		if err != nil {
			err = fmt.Errorf("%w in %s: %w", far.ErrNoCity, dir, err)
		}
		return conn, err
	}
	var running []string
	var only net.Conn
	for _, dir := range names.Cities(names.ClaimsDir(os.Getenv)) {
		conn, err := cityapi.Connect(ctx, dir)
		if err != nil {
			continue
		}
		if running = append(running, dir); len(running) > 1 {
			conn.Close()
			continue
		}
		only = conn
	}
	switch len(running) {
	case 0:
		return nil, far.ErrNoCity
	case 1:
		return only, nil
	}
	only.Close()
	return nil, fmt.Errorf("%w: %s", far.ErrManyCities, strings.Join(running, ", "))
}
