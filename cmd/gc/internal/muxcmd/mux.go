// Package muxcmd is gc mux: the server and the keeper of the native sessions.
//
// Only gc mux dial --start starts a server, and its commands end sessions only
// with --force. cmd/gc adds [New] to the command tree.
package muxcmd

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/internal/agent"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/self"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// commands is what the commands share.
type commands struct {
	*cli.Console
	mux *host.Mux
}

// New returns gc mux.
func New(c *cli.Console, m *host.Mux) *cobra.Command {
	a := &commands{c, m}
	cmd := a.Group("mux", "Manage the server of the native sessions",
		`Two processes run the sessions: the keeper, which is the parent of every program,
and the server, which owns the screens and can die without ending a session. The first
session starts them; they exit ten minutes after the last session ended. Their files
are in $XDG_STATE_HOME/gc, or at GC_MUX_SOCKET if it is set. Every process of your user
can control every session.`, `
		gc mux status
		gc mux upgrade
		gc mux stop --force`,
		[]cli.Entry{
			{Name: "status", Make: func() *cobra.Command { return newStatusCmd(a) }},
			{Name: "stop", Make: func() *cobra.Command { return newStopCmd(a) }},
			{Name: "upgrade", Make: func() *cobra.Command { return newUpgradeCmd(a) }},
			{Name: "outbox", Make: func() *cobra.Command { return newOutboxCmd(a) }},
			{Name: "dial", Make: func() *cobra.Command { return newDialCmd(a) }},
		})
	a.mux.AddFlag(cmd)
	return cmd
}

func newStatusCmd(a *commands) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the server, the keeper and their memory use",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runStatus(cmd.Context(), a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cli.Describe(cmd, "Shows version, socket, processes, memory and the number of sessions. It never starts a\nserver.", `
		gc mux status
		gc mux status --json`, cli.Statuses{cli.ExitNotFound: "no server is running", cli.ExitCannotTell: ""})
}

func runStatus(ctx context.Context, a *commands, asJSON bool) error {
	client, err := a.mux.Dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	s, err := client.Status(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(s)
	}
	now := time.Now()
	t := a.Table(cli.Listing{})
	t.Add("version", s.Version)
	t.Add("socket", s.Socket)
	t.Add("state", s.StateDir)
	t.Add("server", fmt.Sprintf("pid %d, up %s, %s", s.Server.PID, display.Ago(s.Server.Since, now), display.Memory(s.Server.MemoryBytes)))
	t.Add("keeper", fmt.Sprintf("pid %d, up %s, %s", s.Keeper.PID, display.Ago(s.Keeper.Since, now), display.Memory(s.Keeper.MemoryBytes)))
	t.Add("sessions", fmt.Sprintf("%d running, %d ended and kept", s.Sessions, s.Exited))
	for _, path := range s.Damaged {
		t.Add("damaged", path+" is a damaged database that was replaced; its metadata, queue, outbox and background commands are lost")
	}
	if err := t.Print(a.Out); err != nil {
		return err
	}
	if s.Version != a.mux.Version {
		a.Warn("the server is version %s, this is %s; gc mux upgrade replaces it; sessions keep running", s.Version, a.mux.Version)
	}
	return nil
}

func newStopCmd(a *commands) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "stop",
		Short: "Stop the server and the keeper",
		Args:  cli.Exactly(0),
		RunE:  func(cmd *cobra.Command, _ []string) error { return runStop(cmd.Context(), a, force) },
	}
	cmd.Flags().BoolVar(&force, "force", false, "end running sessions first")
	return cli.Describe(cmd, `Stops both and returns when they are gone. It refuses while sessions are running,
unless --force is given, and always while a session belongs to a running city, because
its controller would restart it at once: stop the city first. It succeeds if no server
is running.`, `
		gc mux stop
		gc mux stop --force`, cli.Statuses{cli.ExitFailure: "failure, or sessions or a city are running", cli.ExitCannotTell: ""})
}

func runStop(ctx context.Context, a *commands, force bool) error {
	client, err := a.mux.Dial(ctx)
	if host.IsNoServer(err) {
		fmt.Fprintln(a.Err, "no mux server is running")
		return nil
	}
	if err != nil {
		return err
	}
	defer client.Close()
	if h, err := a.mux.Remote(); force && h == nil && err == nil {
		if dir := runningCity(ctx, client); dir != "" {
			return cli.Fail(cli.ExitFailure, "gc stop --city "+dir+", then gc mux stop --force",
				"the city in %s is running, and its controller would restart its agents", dir)
		}
	}
	return client.Shutdown(ctx, force)
}

// runningCity returns the directory of a city that has sessions and a running
// controller, or "".
func runningCity(ctx context.Context, client *client.Client) string {
	sessions, err := client.List(ctx, "", false)
	if err != nil {
		return "" // the stop reports the error
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

func newUpgradeCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "upgrade [PATH]",
		Short: "Upgrade the server without ending sessions",
		Args:  cli.Between(0, 1),
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			return runUpgrade(cmd.Context(), a, path)
		}),
	}
	return cli.Describe(cmd, `Replaces the server's program with the one at PATH (default: this one) and returns when it
answers. Sessions keep running, and attached terminals reconnect. If the new program is
not ready within 5 s, the old one continues, nothing is lost, and gc mux status shows
the failure.

With --host it installs this version on that machine, as gc host install does, and
upgrades the server there; PATH is a program that is there already.`, `
		gc mux upgrade
		gc mux upgrade ~/go/bin/gc
		gc mux upgrade --host build`,
		cli.Statuses{cli.ExitFailure: "failure; the old program is running", cli.ExitNotFound: "no server is running", cli.ExitCannotTell: ""})
}

// upgradeLimit is the time limit of an upgrade: more than twice what the keeper
// gives a new server.
const upgradeLimit = 20 * time.Second

func runUpgrade(ctx context.Context, a *commands, path string) error {
	if h, err := a.mux.Remote(); err != nil {
		return err
	} else if h != nil {
		return upgradeThere(ctx, a, h, path)
	}
	to, err := a.mux.Version, error(nil)
	if path == "" {
		path, err = self.Program()
	} else {
		path, to, err = upgradeProgram(ctx, path)
	}
	if err != nil {
		return err
	}
	client, err := a.mux.Dial(ctx)
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
			return cli.Fail(cli.ExitFailure, "the old program is running again; gc mux status shows it", "%v", err)
		}
		return err
	}
	after, err := client.Status(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "upgraded from %s (pid %d) to %s (pid %d), %d sessions\n",
		before.Version, before.Server.PID, after.Version, after.Server.PID, after.Sessions)
	return nil
}

// upgradeProgram returns the program's absolute path and the version it reports.
// A file that reports no version is not gc.
func upgradeProgram(ctx context.Context, path string) (program, says string, err error) {
	if program, err = filepath.Abs(path); err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "version")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second // a process that left the group may hold the pipe
	out, err := cmd.Output()
	says, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "gc ")
	if err != nil || !ok {
		return "", "", cli.Fail(cli.ExitUsage, program+" version must print its version", "%s: not a gc program for this machine", path)
	}
	return program, says, nil
}
