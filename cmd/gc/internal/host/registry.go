package host

import (
	"cmp"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/hosts"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/client"
)

// Resolve returns the machine of a URL or of a registered name. A registered host's
// path of gc counts unless GC_HOST_BIN is set.
func Resolve(nameOrURL string) (*client.Host, error) {
	known, err := Known(nameOrURL)
	if err != nil {
		return nil, err
	}
	h, err := client.ParseHost(cmp.Or(known.URL, nameOrURL))
	if err != nil {
		if !strings.Contains(nameOrURL, "://") {
			return nil, cli.Fail(cli.ExitUsage, "gc host list shows the names; or give a URL such as ssh://me@build.example",
				"host %q: want ssh://[user@]HOST[:port], or the name of a registered host", nameOrURL)
		}
		return nil, cli.Fail(cli.ExitUsage, "such as --host ssh://me@build.example", "%v", err)
	}
	bin := ""
	if known.Bin != "" {
		bin = shell.Word(known.Bin)
	}
	h.Program, h.Bin = os.Getenv("GC_SSH"), cmp.Or(os.Getenv("GC_HOST_BIN"), bin, cli.Program)
	return &h, nil
}

// Known returns what is registered of a machine: the zero Host if nothing is. A URL
// works without a registry.
func Known(nameOrURL string) (hosts.Host, error) {
	r, err := hosts.Default(os.Getenv)
	if err != nil {
		return hosts.Host{}, nil
	}
	h, _, err := r.Find(nameOrURL)
	if err != nil {
		return hosts.Host{}, err
	}
	if h.URL == "" && strings.Contains(nameOrURL, "://") {
		if parsed, err := client.ParseHost(nameOrURL); err == nil {
			h, _, _ = r.Find(parsed.String())
		}
	}
	return h, nil
}

// Complete completes the names of registered hosts.
func Complete(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
	r, err := hosts.Default(os.Getenv)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := r.List()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, h := range list {
		names = append(names, h.Name+"\t"+h.URL)
	}
	return cli.WithPrefix(names, prefix), cobra.ShellCompDirectiveNoFileComp
}
