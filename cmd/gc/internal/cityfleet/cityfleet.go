// Package cityfleet makes the fleet that a controller serves as /v1/city: the agents of
// its city, with the sessions of its provider.
//
// It only puts together; it connects to nothing before somebody asks. cmd/gc gives it to
// the controller.
package cityfleet

import (
	"context"
	"net/http"
	"os"

	"gascity.dev/gc/internal/fleet/ofcity"
	"gascity.dev/gc/internal/fleet/ofmux"
	"gascity.dev/gc/internal/fleet/ofprovider"
	"gascity.dev/gc/internal/fleet/wire"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
)

// Serve returns controller.Options.Fleet for the city in dir, whose sessions p hosts.
func Serve(dir string, p runtime.Provider) func(ctx context.Context) (http.Handler, func()) {
	return func(ctx context.Context) (http.Handler, func()) {
		here := ofmux.Open("", "", func(ctx context.Context) (*client.Client, error) {
			paths, err := api.DefaultPaths(os.Getenv)
			if err != nil {
				return nil, err
			}
			return client.Dial(ctx, paths)
		})
		city := ofcity.Open(dir, ofprovider.Open(p, here))
		return wire.Handler(ctx, city), func() { _ = city.Close() } // connections only
	}
}
