// Package configcmd has commands of gc config that need no city.
package configcmd

import (
	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/config/reference"
)

// NewSchema returns gc config schema.
func NewSchema(c *cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON schema of city.toml, for editors",
		Args:  cli.Exactly(0),
		RunE: func(*cobra.Command, []string) error {
			tables, err := reference.Tables()
			if err != nil {
				return err
			}
			text, err := reference.Schema(tables)
			if err != nil {
				return err
			}
			_, err = c.Out.Write(text)
			return err
		},
	}
	return cli.Describe(cmd, `Prints a JSON schema (draft 7) of city.toml: every key with its type, meaning, default
and an example. Editors that use taplo, such as VS Code with Even Better TOML, complete
and check city.toml if its first line names a file with the schema:

  #:schema ./city.schema.json

gc config check finds more than a schema can, such as unknown names.`, `
		gc config schema > city.schema.json`, cli.Statuses{})
}
