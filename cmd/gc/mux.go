package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux"
)

func newMuxCmd(a *app) *cobra.Command {
	cmd := a.newGroup("mux", "The server that holds the native sessions",
		`Two processes hold the sessions: the keeper, parent of every program, and the
server, which owns the screens and may die at any moment without ending a
session. The first session starts them; they end ten minutes after the last one.
They live in $XDG_STATE_HOME/gc, or at GC_MUX_SOCKET when it is set. Every process
of your user can control every session.`, `
		gc mux status
		gc mux upgrade
		gc mux stop --force`,
		[]entry{
			{"status", "", func() *cobra.Command { return newMuxStatusCmd(a) }},
			{"stop", "", func() *cobra.Command { return newMuxStopCmd(a) }},
			{"upgrade", "", func() *cobra.Command { return newMuxUpgradeCmd(a) }},
			{"dial", "", func() *cobra.Command { return newMuxDialCmd(a) }},
		})
	addHost(a, cmd)
	return cmd
}

func isNoServer(err error) bool { return errors.Is(err, mux.ErrNoServer) }

func newMuxStatusCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the server, the keeper and what they use",
		Args:  exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runMuxStatus(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return describe(cmd, "Shows what runs. It never starts a server.", `
		gc mux status
		gc mux status --json`, statuses{exitNotFound: "no server runs", exitCannotTell: ""})
}

func runMuxStatus(ctx context.Context, a *app, asJSON bool) error {
	client, err := a.dialMux(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	s, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(s)
	}
	now := time.Now()
	t := a.newTable(listing{})
	t.Add("version", s.Version)
	t.Add("socket", s.Socket)
	t.Add("state", s.StateDir)
	t.Add("server", fmt.Sprintf("pid %d, up %s, %s", s.Server.PID, display.Ago(s.Server.Since, now), display.Memory(s.Server.MemoryBytes)))
	t.Add("keeper", fmt.Sprintf("pid %d, up %s, %s", s.Keeper.PID, display.Ago(s.Keeper.Since, now), display.Memory(s.Keeper.MemoryBytes)))
	t.Add("sessions", fmt.Sprintf("%d running, %d ended and kept", s.Sessions, s.Exited))
	for _, path := range s.Damaged {
		t.Add("damaged", path+" was put aside; its metadata, queue and background commands are not known")
	}
	if err := t.Print(a.out); err != nil {
		return err
	}
	if s.Version != version {
		a.warn("the server is version %s, this is %s; gc mux upgrade replaces it, and no session ends", s.Version, version)
	}
	return nil
}

func newMuxStopCmd(a *app) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "End the server and the keeper",
		Args:  exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runMuxStop(cmd.Context(), a, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "end running sessions first")
	return describe(cmd, `Ends both and returns when they are gone. It refuses while sessions run, unless
forced, and always while a session belongs to a running city, whose controller would
start it again at once: stop the city first. When no server runs there is nothing to
do, and that is no error.`, `
		gc mux stop
		gc mux stop --force`, statuses{exitFailure: "failure, or sessions or a city are running", exitCannotTell: ""})
}

func runMuxStop(ctx context.Context, a *app, force bool) error {
	client, err := a.dialMux(ctx)
	if isNoServer(err) {
		fmt.Fprintln(a.err, "no mux server is running")
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if h, err := a.remote(); force && h == nil && err == nil {
		if dir := runningCity(ctx, client); dir != "" {
			return fail(exitFailure, "gc stop --city "+dir+", then gc mux stop --force",
				"the city in %s runs, and its controller would start its agents again", dir)
		}
	}
	return client.Shutdown(ctx, force)
}

// runningCity returns the folder of a city that has sessions and whose
// controller runs, or "".
func runningCity(ctx context.Context, client *mux.Client) string {
	sessions, err := client.List(ctx, "", false)
	if err != nil {
		return "" // the stop itself says why
	}
	asked := map[string]bool{"": true}
	for _, s := range sessions {
		dir, err := client.GetMeta(ctx, s.ID, agent.MetaCityPath)
		if err != nil || asked[dir] {
			continue
		}
		asked[dir] = true
		if c, err := cityapi.Dial(dir); err == nil {
			c.Close()
			return dir
		}
	}
	return ""
}
