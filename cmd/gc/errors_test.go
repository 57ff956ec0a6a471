package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestParseCondition(t *testing.T) {
	for in, ok := range map[string]bool{
		"exit": true, "bell": true, "prompt": true, "idle": true, "blocked": true, "text=^a": true, "title=x": true, "quiet=2s": true,
		"": false, "exit=1": false, "text": false, "text=": false, "text=(": false, "quiet=0s": false, "quiet=-1s": false, "quiet=x": false, "idle=": false, "blocked=x": false,
	} {
		if _, err := parseCondition(in); (err == nil) != ok {
			t.Errorf("parseCondition(%q): %v", in, err)
		}
	}
}

// A script runs every command that is not a group.
func TestEveryCommandHasAScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	eachCommand(newRootCmd(&app{}), func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !strings.Contains(all.String(), cmd.CommandPath()+" ") && !strings.Contains(all.String(), cmd.CommandPath()+"\n") {
			t.Errorf("no script runs %s", cmd.CommandPath())
		}
	})
}
