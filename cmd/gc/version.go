package main

import (
	"fmt"
	goruntime "runtime"

	"github.com/spf13/cobra"
)

// versionInfo is what gc version --json prints.
type versionInfo struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCmd(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  exactly(0),
		RunE:  func(*cobra.Command, []string) error { return runVersion(a, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON, with Go version and platform")
	return describe(cmd, "Prints the version of this program. No server is asked; gc mux status has the\nserver's.", `
		gc version
		gc version --json`, statuses{})
}

func runVersion(a *app, asJSON bool) error {
	if asJSON {
		return a.printJSON(versionInfo{version, goruntime.Version(), goruntime.GOOS + "/" + goruntime.GOARCH})
	}
	_, err := fmt.Fprintln(a.out, "gc", version)
	return err
}
