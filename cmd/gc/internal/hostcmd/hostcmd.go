// Package hostcmd is gc host: the other machines that a person uses.
//
// It registers, checks and installs; it starts no session there and ends none.
// cmd/gc adds [New] to the command tree.
package hostcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/internal/hosts"
	"gascity.dev/gc/internal/hosts/install"
)

// commands is what the commands share.
type commands struct {
	*cli.Console
	version string // of this program
}

// New returns gc host.
func New(c *cli.Console, version string) *cobra.Command {
	a := &commands{c, version}
	return a.Group("host", "Add, check and set up other machines",
		`Remembers other machines by short names, for --host and GC_HOST, in
$XDG_CONFIG_HOME/gc/hosts.json (default: ~/.config/gc/hosts.json). A machine needs an ssh
login without questions and a gc, which gc host install puts there. Keys, host keys,
jump hosts and ports are the business of ssh and its configuration; GC_SSH replaces the
program. docs/hosts.md describes the whole way.`, `
		gc host add build ssh://me@build.example
		gc host install build
		gc host check
		gc session new job --host build -- make -j64`,
		[]cli.Entry{
			{Name: "add", Make: func() *cobra.Command { return newAddCmd(a) }},
			{Name: "check", Make: func() *cobra.Command { return newCheckCmd(a) }},
			{Name: "list", Make: func() *cobra.Command { return newListCmd(a) }},
			{Name: "install", Make: func() *cobra.Command { return newInstallCmd(a) }},
			{Name: "remove", Make: func() *cobra.Command { return newRemoveCmd(a) }},
		})
}

func newListCmd(a *commands) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the registered hosts",
		Args:  cli.Exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runList(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON array of hosts: name, url, bin and the last check")
	return cli.Describe(cmd, `Lists the hosts with what the last check found: the version of gc there, the platform
and the first problem. It connects to none of them; gc host check does.`, `
		gc host list
		gc host list --json | jq -r '.[].name'`, cli.Statuses{})
}

func runList(a *commands, asJSON bool) error {
	r, err := hosts.Default(os.Getenv)
	if err != nil {
		return err
	}
	list, err := r.List()
	if err != nil {
		return err
	}
	if asJSON {
		return a.PrintJSON(append([]hosts.Host{}, list...))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Err, cli.Named("no hosts; gc host add NAME ssh://[user@]HOST remembers one"))
		return nil
	}
	t, now := a.Table(cli.Listing{}), time.Now()
	t.Add("NAME", "URL", "GC", "PLATFORM", "CHECKED", "PROBLEM")
	for _, h := range list {
		c, checked := hosts.Check{}, "never"
		if h.Check != nil {
			c, checked = *h.Check, display.Ago(h.Check.At, now)+" ago"
		}
		platform := ""
		if c.OS != "" {
			platform = c.OS + "/" + c.Arch
		}
		t.Add(h.Name, h.URL, cmp.Or(c.Version, "-"), cmp.Or(platform, "-"), checked, c.Problem)
		if c.Problem != "" {
			t.Paint(5, display.Red)
		}
	}
	return t.Print(a.Out)
}

func newRemoveCmd(a *commands) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "remove NAME",
		Short:             "Forget a host",
		Args:              cli.Exactly(1),
		ValidArgsFunction: completeFirst,
		RunE:              func(_ *cobra.Command, args []string) error { return runRemove(a, args[0]) },
	}
	return cli.Describe(cmd, `Forgets the name. Nothing changes on the machine: its gc and its sessions stay. gc does
not know which cities use a host. A city names it by its URL, so it continues, but
without the path of gc that was remembered if gc is not on the PATH there.`,
		"gc host remove build", cli.Statuses{cli.ExitNotFound: "no such host is registered"})
}

func runRemove(a *commands, name string) error {
	r, err := hosts.Default(os.Getenv)
	if err != nil {
		return err
	}
	if err := r.Remove(name); err != nil {
		return explained(err)
	}
	fmt.Fprintf(a.Err, "removed: %s\n", display.Line(name))
	return nil
}

// explained gives the errors of the registry their exit statuses.
func explained(err error) error {
	switch {
	case errors.Is(err, hosts.ErrUnknown):
		return cli.Fail(cli.ExitNotFound, "gc host list", "%w", err)
	case errors.Is(err, hosts.ErrBadHost):
		return cli.Fail(cli.ExitUsage, "such as gc host add build ssh://me@build.example", "%w", err)
	case errors.Is(err, hosts.ErrExists):
		return cli.Fail(cli.ExitFailure, "gc host remove NAME forgets it", "%w", err)
	}
	return err
}

// completeFirst completes the first argument with the names of hosts.
func completeFirst(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return host.Complete(cmd, args, prefix)
}

// without removes the names that are given; each has its URL behind a tab.
func without(names, given []string) []string {
	return slices.DeleteFunc(names, func(n string) bool {
		name, _, _ := strings.Cut(n, "\t")
		return slices.Contains(given, name)
	})
}

// found is what a shell's answers say about a machine.
func found(m install.Machine) *hosts.Check {
	c := &hosts.Check{At: time.Now().UTC().Truncate(time.Second), Version: m.Version(), OS: m.OS, Arch: m.Arch}
	if c.Version == "" {
		c.Problem = hostcheck.NoGC(m)
	}
	return c
}
