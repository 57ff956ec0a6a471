// Package rule describes the screens of agents as data: the dialogs they open,
// and how to find them on a screen.
//
// Its invariant: a dialog is found only if its question and its options are
// together on the live screen; text alone, which a conversation may quote,
// never is one. The package is pure: text in, decisions out. It serves the
// start sequence, the input transaction and the status detector.
package rule

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// When says when a dialog may be answered.
type When string

const (
	Startup When = "startup" // during the start of a session, or on request
	Report  When = "report"  // never: it is only reported
)

// Dialog is one row of the table. Of the rows that match, the first wins.
// Labels are compared whole, ignoring a remark in brackets after one, as in
// "Trust folder (work)".
type Dialog struct {
	Name string `json:"name"` // for reports
	Kind string `json:"kind"` // one of Kinds; "" is KindQuestion
	// Detect: any of these texts, anywhere above the options, identifies it.
	// Case matters; line breaks and box lines do not.
	Detect  []string `json:"detect"`
	Options []string `json:"options"` // labels it is known to offer
	Wanted  string   `json:"wanted"`  // the only label on which Enter may ever be pressed; "": never
	// Verify: any of these texts means that the answer was accepted, although
	// the dialog may still be on the screen.
	Verify []string `json:"verify"`
	When   When     `json:"when"` // "" is Startup
}

type table struct {
	Dialogs []Dialog `json:"dialogs"`
}

// The table is JSON, not TOML: this package is a leaf, and only internal/config
// knows the TOML library.
//
//go:embed dialogs.json
var builtin []byte

var builtinDialogs = sync.OnceValues(func() ([]Dialog, error) { return ParseDialogs(builtin) })

// Dialogs returns a copy of the built-in table, for the caller to append to.
func Dialogs() []Dialog {
	ds, err := builtinDialogs()
	if err != nil {
		panic("built-in dialogs: " + err.Error()) // a test parses them
	}
	return slices.Clone(ds)
}

// ParseDialogs parses a table in JSON. Unknown keys are errors.
func ParseDialogs(text []byte) ([]Dialog, error) {
	var t table
	dec := json.NewDecoder(bytes.NewReader(text))
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

// Check fills in defaults and reports what makes the row useless or dangerous.
func (d *Dialog) Check() error {
	if d.When == "" {
		d.When = Startup
	}
	if d.Kind == "" {
		d.Kind = KindQuestion
	}
	switch {
	case d.Name == "":
		return fmt.Errorf("dialog without a name")
	case len(d.Detect) == 0 || slices.Contains(d.Detect, ""):
		return fmt.Errorf("dialog %q: detect requires non-empty texts", d.Name)
	case !slices.Contains(Kinds, d.Kind):
		return fmt.Errorf("dialog %q: kind is %q; valid: %s", d.Name, d.Kind, strings.Join(Kinds, ", "))
	case d.When != Startup && d.When != Report:
		return fmt.Errorf("dialog %q: when is %q; valid: %q, %q", d.Name, d.When, Startup, Report)
	case d.When == Startup && d.Wanted == "":
		return fmt.Errorf("dialog %q: wanted is missing", d.Name)
	case d.When == Startup && !slices.Contains(d.Options, d.Wanted):
		return fmt.Errorf("dialog %q: wanted %q is not among its options", d.Name, d.Wanted)
	}
	return nil
}
