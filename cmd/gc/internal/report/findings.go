package report

import (
	"fmt"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/controller/outside"
)

// Findings prints one line per finding, wrapped on a terminal, with its hint below,
// and their numbers to standard error.
func Findings(c *cli.Console, list []outside.Finding) error {
	wide, problems, warnings := 0, 0, 0
	for _, f := range list {
		wide = max(wide, len([]rune(display.Line(f.About))))
	}
	var b strings.Builder
	for _, f := range list {
		about := display.Line(f.About)
		margin := "\n" + strings.Repeat(" ", wide+len("problem")+4)
		text := strings.Join(display.Wrap(display.Line(cli.Named(f.Text)), c.Width()-len(margin)+1), margin)
		fmt.Fprintf(&b, "%-7s  %s%s  %s\n", f.Level, about, strings.Repeat(" ", wide-len([]rune(about))), text)
		if f.Hint != "" {
			fmt.Fprintf(&b, "%-7s  %-*s  hint: %s\n", "", wide, "", display.Line(cli.Named(f.Hint)))
		}
		switch f.Level {
		case outside.LevelFail:
			problems++
		case outside.LevelWarn:
			warnings++
		}
	}
	if _, err := fmt.Fprint(c.Out, b.String()); err != nil {
		return err
	}
	fmt.Fprintf(c.Err, "%s, %s\n", display.Count(problems, "problem"), display.Count(warnings, "warning"))
	return nil
}
