// Package rule holds what is known about the screens of agents as data: the
// dialogs they open, and how to find them on a screen.
//
// Its one invariant: a dialog is found only with its question and its options
// standing together on the live screen; a text alone, which a conversation may
// quote, is never one. The package decides on text and touches nothing. It
// serves the start sequence, the input transaction and the status detector.
package rule

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// When says in which situations a dialog may be answered.
type When string

const (
	Startup When = "startup" // while a session starts, or on request
	Report  When = "report"  // never: it is only named
)

// Dialog is one row of the table.
type Dialog struct {
	Name    string   `toml:"name"`
	Detect  []string `toml:"detect"`  // any of them identifies it
	Options []string `toml:"options"` // labels it is known to offer
	Wanted  string   `toml:"wanted"`  // the only label that may be confirmed
	Verify  []string `toml:"verify"`  // any of them: the answer was taken
	When    When     `toml:"when"`    // "" is Startup
}

type table struct {
	Dialogs []Dialog `toml:"dialogs"`
}

//go:embed dialogs.toml
var builtin []byte

var builtinDialogs = sync.OnceValues(func() ([]Dialog, error) { return ParseDialogs(builtin) })

// Dialogs returns the built-in table. It is parsed once; the caller gets a
// copy to append to.
func Dialogs() []Dialog {
	ds, err := builtinDialogs()
	if err != nil {
		panic("built-in dialogs: " + err.Error()) // a test parses them
	}
	return slices.Clone(ds)
}

// ParseDialogs reads a table in TOML. Unknown keys are errors.
func ParseDialogs(text []byte) ([]Dialog, error) {
	var t table
	dec := toml.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		return nil, fmt.Errorf("dialog table: %w", err)
	}
	for i := range t.Dialogs {
		if err := t.Dialogs[i].Check(); err != nil {
			return nil, err
		}
	}
	return t.Dialogs, nil
}

// Check completes the defaults and reports what makes the row useless or
// dangerous.
func (d *Dialog) Check() error {
	if d.When == "" {
		d.When = Startup
	}
	switch {
	case d.Name == "":
		return fmt.Errorf("dialog without a name")
	case len(d.Detect) == 0 || slices.Contains(d.Detect, ""):
		return fmt.Errorf("dialog %q: detect needs texts that are not empty", d.Name)
	case d.When != Startup && d.When != Report:
		return fmt.Errorf("dialog %q: when is %q; valid: %q, %q", d.Name, d.When, Startup, Report)
	case d.When == Startup && d.Wanted == "":
		return fmt.Errorf("dialog %q: wanted is missing", d.Name)
	case d.When == Startup && !slices.Contains(d.Options, d.Wanted):
		return fmt.Errorf("dialog %q: wanted %q is not among its options", d.Name, d.Wanted)
	}
	return nil
}
