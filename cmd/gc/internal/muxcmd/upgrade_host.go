package muxcmd

import (
	"cmp"
	"context"
	"os"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/host"
	"gascity.dev/gc/cmd/gc/internal/hostcheck"
	"gascity.dev/gc/cmd/gc/internal/hostcmd"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/client"
)

// upgradeThere upgrades the server of another machine to the program at a path there,
// or to this program's version, which it installs first.
func upgradeThere(ctx context.Context, a *commands, h *client.Host, path string) error {
	words := []string{"mux", "upgrade"}
	if path != "" {
		words = append(words, shell.Word(path))
	} else {
		name := cmp.Or(a.mux.URL, os.Getenv("GC_HOST"))
		r, err := hostcmd.Install(ctx, a.Console, a.mux.Version, name, h, placeThere(name), "")
		if err != nil {
			return err
		}
		h.Bin = shell.Word(r.Path)
	}
	status, err := h.Run(ctx, a.Out, a.Err, words...)
	if err != nil || status == cli.ExitOK {
		return err
	}
	return cli.Quiet(status) // the gc there said why
}

// placeThere is where gc belongs on a machine: where it is now, as far as that is known.
func placeThere(name string) string {
	if bin := os.Getenv("GC_HOST_BIN"); strings.Contains(bin, "/") {
		return bin
	}
	known, err := host.Known(name)
	if err != nil {
		return hostcheck.HomeBin() // the connection reports it
	}
	return cmp.Or(known.Bin, hostcheck.HomeBin())
}
