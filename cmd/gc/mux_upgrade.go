package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/mux"
)

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
		if errors.Is(err, mux.ErrUpgrade) {
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
