package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/agent"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/runtime"
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

func isNoServer(err error) bool { return errors.Is(err, api.ErrNoServer) }

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
func runningCity(ctx context.Context, client *client.Client) string {
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

func newMuxUpgradeCmd(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade [PATH]",
		Short: "Replace the server's program under the running sessions",
		Args:  between(0, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			return runMuxUpgrade(cmd.Context(), a, path)
		},
	}
	return describe(cmd, `Gives the server the program at PATH, or the one that you run now, and returns when
it answers. Sessions go on, attached terminals connect again by themselves. A
program that is not ready within 5 s is given up: the old one serves again, nothing
is lost, and the status says so.`, `
		gc mux upgrade
		gc mux upgrade ~/go/bin/gc`,
		statuses{exitFailure: "failure; the old program serves", exitNotFound: "no server runs", exitCannotTell: ""})
}

// upgradeLimit bounds an upgrade: twice what the keeper gives a new server.
const upgradeLimit = 20 * time.Second

func runMuxUpgrade(ctx context.Context, a *app, path string) error {
	if h, err := a.remote(); err != nil {
		return err
	} else if h != nil {
		return fail(exitUnsupported, "ssh "+h.Name+" gc mux upgrade", "an upgrade is done on the machine itself")
	}
	path, to, err := upgradeProgram(ctx, path)
	if err != nil {
		return err
	}
	client, err := a.dialMux(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	before, err := client.Status(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, upgradeLimit)
	defer cancel()
	if err := client.Upgrade(ctx, path, to); err != nil {
		if errors.Is(err, api.ErrUpgrade) {
			return fail(exitFailure, "the old program serves again; gc mux status shows it", "%v", err)
		}
		return err
	}
	after, err := client.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "upgraded from %s (pid %d) to %s (pid %d), %d sessions\n",
		before.Version, before.Server.PID, after.Version, after.Server.PID, after.Sessions)
	return nil
}

// upgradeProgram is the program's path, absolute, and the version it says it
// has: a file that cannot say so is no gc.
func upgradeProgram(ctx context.Context, path string) (program, says string, err error) {
	if path == "" {
		program, err = os.Executable()
		return program, version, err
	}
	if program, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // what left the group may hold the pipe
	out, err := cmd.Output()
	says, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "gc ")
	if err != nil || !ok {
		return "", "", fail(exitUsage, program+" version has to answer", "%s is no gc that runs here", path)
	}
	return program, says, nil
}

type muxDialOptions struct {
	start   bool
	environ bool
}

func newMuxDialCmd(a *app) *cobra.Command {
	var o muxDialOptions
	cmd := &cobra.Command{
		Use:   "dial",
		Short: "Connect standard input and output to the server's socket",
		Args:  exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runMuxDial(cmd.Context(), a, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.start, "start", false, "start a server when none runs")
	f.BoolVar(&o.environ, "environ", false, "print instead what a session would inherit of the environment here, as a JSON array")
	return describe(cmd, `Passes bytes between its standard streams and the server of this machine, until
one side ends. It is what --host runs on the other machine; any HTTP client that can
use a program as its connection speaks /v1 through it (docs/api.md).`, `
		ssh build.example gc mux dial
		gc session list --host ssh://build.example`,
		statuses{exitNotFound: "no server runs", exitCannotTell: ""})
}

func runMuxDial(ctx context.Context, a *app, o muxDialOptions) error {
	if a.host != "" {
		return fail(exitUsage, "GC_HOST does not count here either", "mux dial connects to the server of this machine")
	}
	if o.environ {
		return json.NewEncoder(a.out).Encode(runtime.Environment(os.Environ()))
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	c, err := client.Dial(ctx, paths)
	if o.start && isNoServer(err) {
		c, err = client.Ensure(ctx, paths, version)
	}
	if err != nil {
		return err
	}
	defer c.Close()
	conn, err := c.Stream(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	return splice(a, conn)
}

// splice passes bytes both ways until the server ends the connection. The end
// of the input is passed on.
func splice(a *app, conn net.Conn) error {
	go func() { // ends with the process at the latest
		_, _ = io.Copy(conn, a.in)
		if c, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = c.CloseWrite()
		}
	}()
	if _, err := io.Copy(a.out, conn); err != nil {
		return fmt.Errorf("mux dial: %w", err)
	}
	return nil
}
