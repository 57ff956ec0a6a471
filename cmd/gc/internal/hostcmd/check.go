package hostcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/internal/controller/outside"
	"gascity.dev/gc/internal/hosts"
)

type checkOptions struct {
	json    bool
	timeout time.Duration
}

func newCheckCmd(a *commands) *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:               "check [HOST...]",
		Short:             "Check whether other machines can run sessions",
		Args:              cli.Between(0, -1),
		ValidArgsFunction: completeEvery,
		RunE:              func(cmd *cobra.Command, args []string) error { return runCheck(cmd.Context(), a, args, o) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print a JSON array: name, url, reached, facts, clock_skew_ms and findings")
	f.DurationVar(&o.timeout, "timeout", 20*time.Second, "wait this long for each machine")
	return cli.Describe(cmd, `Connects to registered hosts or URLs (default: every registered host), side by side and
without questions of ssh, and prints one line per finding: the login, the version and
features of gc, free terminals, free disk at the state directory, the clock, and the
multiplexer. It starts nothing there. gc host list shows the result later.`, `
		gc host check
		gc host check build --json | jq '.[].findings[] | select(.level != "ok")'`,
		cli.Statuses{cli.ExitOK: "no problems (there may be warnings)", cli.ExitFailure: "problems found", cli.ExitCannotTell: "a machine was not reached"})
}

func runCheck(ctx context.Context, a *commands, names []string, o checkOptions) error {
	if o.timeout <= 0 {
		return cli.Fail(cli.ExitUsage, "such as --timeout 10s", "--timeout must be positive")
	}
	r, err := hosts.Default(os.Getenv)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		list, err := r.List()
		if err != nil {
			return err
		}
		for _, h := range list {
			names = append(names, h.Name)
		}
	}
	if len(names) == 0 && !o.json {
		fmt.Fprintln(a.Err, cli.Named("no hosts; gc host add NAME ssh://[user@]HOST remembers one"))
		return nil
	}
	progress := display.NewProgress(a.Err)
	progress.Show("checking " + display.Count(len(names), "host"))
	reports, err := hostcheck.All(ctx, a.version, names, o.timeout)
	progress.Clear()
	if err != nil {
		return err
	}
	if err := printReports(a, reports, o.json); err != nil {
		return err
	}
	for _, one := range reports {
		if err := keep(r, one); err != nil {
			return err
		}
	}
	return verdict(reports)
}

func printReports(a *commands, reports []*hostcheck.Report, asJSON bool) error {
	if asJSON {
		return a.PrintJSON(append([]*hostcheck.Report{}, reports...))
	}
	var all []outside.Finding
	for _, r := range reports {
		all = append(all, r.Findings...)
	}
	return report.Findings(a.Console, all)
}

// keep remembers the result of a registered host. One that was not reached keeps what
// is known of it.
func keep(r hosts.Registry, report *hostcheck.Report) error {
	err := r.Update(report.URL, func(h *hosts.Host) {
		now := report.Check()
		if !report.Reached && h.Check != nil {
			now.Version, now.OS, now.Arch = h.Check.Version, h.Check.OS, h.Check.Arch
		}
		h.Check = now
		if report.Moved {
			h.Bin = report.Bin
		}
	})
	if errors.Is(err, hosts.ErrUnknown) {
		return nil
	}
	return err
}

// verdict is the exit status.
func verdict(reports []*hostcheck.Report) error {
	status := cli.ExitOK
	for _, r := range reports {
		switch {
		case !r.Reached:
			return cli.Quiet(cli.ExitCannotTell)
		case r.Problem() != "":
			status = cli.ExitFailure
		}
	}
	if status == cli.ExitOK {
		return nil
	}
	return cli.Quiet(status)
}

// completeEvery completes every argument with hosts that are not given yet.
func completeEvery(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	names, directive := host.Complete(cmd, nil, prefix)
	return without(names, args), directive
}
