package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// docsDir holds one page per command.
const docsDir = "../../docs/cli"

// TestDocs fails if docs/cli does not match the commands; -update writes it.
func TestDocs(t *testing.T) {
	want := map[string]string{}
	eachCommand(newRootCmd(&app{}), func(cmd *cobra.Command) { want[pageName(cmd)] = page(cmd) })
	if *update {
		writePages(t, want)
	}
	got := map[string]string{}
	files, err := filepath.Glob(filepath.Join(docsDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(f)] = string(b)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/cli is behind the commands, run make docs (-want +got):\n%s", diff)
	}
}

// Every command has a description, an example and its exit statuses.
func TestEveryCommandIsDescribed(t *testing.T) {
	eachCommand(newRootCmd(&app{}), func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Example == "" || !strings.Contains(cmd.Long, "Exit status:") {
			t.Errorf("%s: short text, example or exit statuses are missing", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Long, "\n") {
			if n := len([]rune(line)); n > 90 {
				t.Errorf("%s: a line of the help has %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
	})
}

// Building only the named command gives the same command.
func TestOneCommandIsMade(t *testing.T) {
	eachCommand(newRootCmd(&app{}), func(cmd *cobra.Command) {
		words := strings.Fields(cmd.CommandPath())[1:]
		root := newRootCmd(&app{Console: cli.NewConsole(cli.Streams{}, append([]string{"--city", "x"}, words...))})
		got, _, err := root.Find(words)
		if err != nil || got.CommandPath() != cmd.CommandPath() {
			t.Fatalf("%s: found %s, %v", cmd.CommandPath(), got.CommandPath(), err)
		}
		if n := len(root.Commands()); len(words) > 0 && n != 1 {
			t.Errorf("%s: %d commands were made", cmd.CommandPath(), n)
		}
		if diff := cmp.Diff(page(cmd), page(got)); diff != "" {
			t.Errorf("%s: another help: %s", cmd.CommandPath(), diff)
		}
	})
}

func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	if cmd.Hidden || cmd.Name() == "help" {
		return
	}
	visit(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, visit)
	}
}

func pageName(cmd *cobra.Command) string {
	return strings.ReplaceAll(cmd.CommandPath(), " ", "_") + ".md"
}

// page is the Markdown of one command.
func page(cmd *cobra.Command) string {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n%s.\n\n", cmd.CommandPath(), cmd.Short)
	if cmd.Runnable() && !cmd.HasSubCommands() {
		fmt.Fprintf(&b, "    %s\n\n", cmd.UseLine())
	}
	long, statuses, _ := strings.Cut(cmd.Long, "\n\nExit status:\n")
	fmt.Fprintf(&b, "```\n%s\n```\n\n", long)
	fmt.Fprintf(&b, "## Examples\n\n```\n%s\n```\n\n", dedent(cmd.Example))
	flags(&b, "Flags", cmd.NonInheritedFlags())
	flags(&b, "Flags of every command", cmd.InheritedFlags())
	fmt.Fprintf(&b, "## Exit status\n\n```\n%s\n```\n", dedent(statuses))
	var subs []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			subs = append(subs, fmt.Sprintf("- [%s](%s): %s", sub.CommandPath(), pageName(sub), sub.Short))
		}
	}
	if len(subs) > 0 {
		fmt.Fprintf(&b, "\n## Commands\n\n%s\n", strings.Join(subs, "\n"))
	}
	return b.String()
}

func flags(b *bytes.Buffer, title string, set *pflag.FlagSet) {
	if set.HasAvailableFlags() {
		fmt.Fprintf(b, "## %s\n\n```\n%s```\n\n", title, set.FlagUsages())
	}
}

func dedent(s string) string {
	lines := strings.Split(strings.Trim(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimPrefix(l, "  ")
	}
	return strings.Join(lines, "\n")
}

func writePages(t *testing.T, pages map[string]string) {
	t.Helper()
	if err := os.RemoveAll(docsDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.MkdirAll(docsDir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join(docsDir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
