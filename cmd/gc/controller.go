package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cityfleet"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/elsewhere"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/names"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// newControllerCmd returns the command that gc start runs in the background.
func newControllerCmd(a *app) *cobra.Command {
	runCmd := &cobra.Command{
		Use:    "run",
		Short:  "Run the city's controller (gc start runs this command)",
		Args:   cli.Exactly(0),
		Hidden: true,
		RunE: cli.Graceful(func(cmd *cobra.Command, _ []string) error {
			return controller.Child(cmd.Context(), func() (controller.Options, error) {
				o, err := a.startOptions()
				if err == nil {
					err = mayRun(o.City)
				}
				return o, err
			})
		}),
	}
	g := a.Group("controller", "Run the process that keeps a city running",
		"Internal: gc start runs it in the background.", "gc start",
		[]cli.Entry{{Name: "run", Make: func() *cobra.Command { return runCmd }}})
	g.Hidden = true
	return g
}

// controllerOptions are the options of the city's controller.
func (a *app) controllerOptions() (controller.Options, error) {
	city, err := a.city.load()
	if err != nil {
		return controller.Options{}, err
	}
	c := backend.SelectedIn(city)
	a.providers.Through = nil // it is the controller that holds the streams
	p, err := a.providers.NewController(c, city)
	if err != nil {
		return controller.Options{}, err
	}
	a.providers.NoExec = true // from here on this process is the controller, or waits for it
	for _, w := range agent.TemplateWarnings(city) {
		a.Warn("%s", w)
	}
	build, err := buildOptions()
	if err != nil {
		return controller.Options{}, err
	}
	far := elsewhere.New(a.providers)
	return controller.Options{
		City: city, Provider: p, ProviderName: c.Name, Background: far.Commands(), Steps: a.providers.TellSteps, Trusted: controllerTrust, Claims: names.ClaimsDir(os.Getenv),
		Build: build, Outboxes: far.Outboxes, FollowOutboxes: far.Follow, HostStream: a.providers.Forward, Place: a.providers.Where,
		Fleet: cityfleet.Serve(city.Dir, p),
	}, nil
}

// startOptions are controllerOptions for a controller that starts agents: every agent
// must run where GC_SESSION puts it.
func (a *app) startOptions() (controller.Options, error) {
	o, err := a.controllerOptions()
	if err == nil {
		o.Build.Provider = backend.SelectedIn(o.City).Override()
	}
	return o, err
}

// checkMuxDir fails if the city needs a mux server and none can run; otherwise
// every agent would fail with the same error.
func checkMuxDir(city *config.City) error {
	if backend.SelectedIn(city).Name != backend.Default {
		return nil
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	return client.CheckStateDir(paths)
}

// launchController starts a controller in the background and returns the city's
// status after the first reconcile.
func launchController(ctx context.Context, o controller.Options) (cityapi.Status, error) {
	bin, err := os.Executable() // not GC_BIN: that of a city with pods is gc-k8s
	if err != nil {
		return cityapi.Status{}, err
	}
	return controller.Spawn(ctx, controller.SpawnOptions{
		City: o.City.Dir, Bin: bin, Env: o.Build.Environ,
		Args: []string{"controller", "run", "--city", o.City.Dir},
	})
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
