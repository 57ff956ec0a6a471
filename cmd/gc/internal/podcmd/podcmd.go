// Package podcmd is gc pod-run and gc pod-install, the commands of a pod's containers.
// People do not call them, so the help does not list them.
package podcmd

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/pod"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/api"
)

// The names of the commands.
const (
	Run     = "pod-run"
	Install = "pod-install"
)

// NewRun returns gc pod-run.
func NewRun(c *cli.Console, version string) *cobra.Command {
	o := pod.Options{Version: version, Screen: c.Out, Warn: c.Warn, Connected: connected}
	cmd := &cobra.Command{
		Use:    Run,
		Short:  "Host one session and its multiplexer in the foreground, as a container's first process",
		Args:   cli.Exactly(0),
		Hidden: true,
		RunE: cli.Graceful(func(cmd *cobra.Command, _ []string) error {
			return runRun(cmd, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.Session, "session", "", "the `NAME` of the session")
	f.DurationVar(&o.Wait, "wait", 10*time.Minute, "how long to wait for the session to be made")
	f.DurationVar(&o.Alone, "alone", 0, "end when nobody was connected for this long before the session was made; 0: wait for --wait")
	f.DurationVar(&o.Grace, "grace", 8*time.Second, "the time between TERM and KILL when the session is stopped")
	f.StringVar(&o.Report, "termination", "", "write what is known about the end to this `FILE`, as JSON of at most 4 KiB")
	return cli.Describe(cmd, `Internal: the command of a pod's container. It starts a multiplexer, waits until somebody
makes the session there, and then for its end. A session that is killed may be made again
within 45 seconds, as a relaunch does; that keeps the container. TERM stops the session.

The status is that of the session's program; 128 and the number of the signal for one that
was killed; 255 if it cannot be determined.`, `
		gc pod-run --session coder --termination /dev/termination-log`,
		cli.Statuses{cli.ExitCannotTell: "the multiplexer was killed, and the session with it", cli.ExitTimeout: "no session was made within --wait, or nobody was connected for the time of --alone"})
}

func runRun(cmd *cobra.Command, o pod.Options) error {
	if o.Session == "" {
		return cli.UsageError(cmd, "--session NAME is missing")
	}
	if err := api.CheckName(o.Session); err != nil {
		return err
	}
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	o.Paths = paths
	exit, err := pod.Run(cmd.Context(), o)
	switch {
	case errors.Is(err, pod.ErrNoSession):
		return cli.Fail(cli.ExitTimeout, "gc mux dial --many in the container reaches the multiplexer", "%v", err)
	case errors.Is(err, pod.ErrLost):
		return cli.Fail(cli.ExitCannotTell, "", "%v", err)
	case errors.Is(err, pod.ErrShared):
		return cli.Fail(cli.ExitFailure, "set GC_MUX_SOCKET to a path that only this container has", "%v", err)
	case err != nil:
		return err
	case exit.Code < 0:
		return cli.Quiet(unknown)
	case exit.Code > 0:
		return cli.Quiet(exit.Code)
	}
	return nil
}

// connected reports whether a gc mux dial runs in the container: someone elsewhere holds a
// stream to the multiplexer. If the system does not say, it is assumed.
func connected() bool {
	all, err := proctree.Table()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(all, func(p proctree.Proc) bool {
		argv, err := proctree.Cmdline(p.PID)
		return err == nil && len(argv) > 2 && argv[1] == "mux" && argv[2] == "dial"
	})
}

// unknown is the exit status for one that cannot be determined.
const unknown = 255
