package hostcmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/internal/hosts"
	"gascity.dev/gc/mux/client"
)

func newAddCmd(a *commands) *cobra.Command {
	var unchecked bool
	cmd := &cobra.Command{
		Use:   "add [NAME] URL",
		Short: "Register another machine",
		Args:  cli.Between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 2 {
				name = args[0]
			}
			return runAdd(cmd.Context(), a, name, args[len(args)-1], unchecked)
		},
	}
	cmd.Flags().BoolVar(&unchecked, "no-check", false, "register it without connecting to it")
	return cli.Describe(cmd, `Registers a machine at ssh://[user@]HOST[:port] by a name (default: HOST), after a
connection to it. HOST may be an alias of ssh's configuration. A machine without gc is
registered too. ssh asks on the terminal about an unknown host key or a passphrase, but
gc needs logins without questions afterwards.`, `
		gc host add ssh://build.example
		gc host add build ssh://me@build.example:2222`,
		cli.Statuses{cli.ExitFailure: "failure, such as: the name is taken", cli.ExitCannotTell: "the machine cannot be reached, and was not added"})
}

func runAdd(ctx context.Context, a *commands, name, url string, unchecked bool) error {
	at, err := client.ParseHost(url)
	if err != nil {
		return cli.Fail(cli.ExitUsage, "such as gc host add build ssh://me@build.example", "%w", err)
	}
	if name == "" {
		name = at.Name
	}
	r, err := hosts.Default(os.Getenv)
	if err != nil {
		return err
	}
	h := hosts.Host{Name: name, URL: at.String()}
	if err := r.Check(h); err != nil { // before the connection
		return explained(err)
	}
	if !unchecked {
		if err := look(ctx, a, &h, at); err != nil {
			return err
		}
	}
	if err := r.Add(h); err != nil {
		return explained(err)
	}
	text := "added: " + h.Name + " is " + h.URL
	if c := h.Check; c != nil && c.Version != "" {
		text += ", gc " + c.Version + " on " + c.OS + "/" + c.Arch
	}
	fmt.Fprintln(a.Err, display.Line(text))
	if h.Check != nil && h.Check.Problem != "" {
		fmt.Fprintf(a.Err, "%s\nhint: %s\n", display.Line(h.Check.Problem), cli.Named("gc host install "+h.Name))
	}
	return nil
}

// look connects to the machine and fills in what it finds.
func look(ctx context.Context, a *commands, h *hosts.Host, at client.Host) error {
	progress := display.NewProgress(a.Err)
	progress.Show("connecting to " + h.URL)
	defer progress.Clear()
	at.Program = os.Getenv("GC_SSH")
	s, err := hostcheck.Shell(ctx, &at)
	if err != nil {
		return err
	}
	m := s.Machine()
	h.Check, h.Bin = found(m), hostcheck.Remembered(m)
	return s.Close()
}
