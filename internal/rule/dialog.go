// Package rule holds what is known about the screens of agents as data: the
// dialogs they open, and how to find them on a screen.
//
// Its one invariant: a dialog is found only with its question and its options
// standing together on the live screen; a text alone, which a conversation may
// quote, is never one. The package decides on text and touches nothing. It
// serves the start sequence, the input transaction and the status detector.
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

// When says in which situations a dialog may be answered.
type When string

const (
	Startup When = "startup" // while a session starts, or on request
	Report  When = "report"  // never: it is only named
)

// Dialog is one row of the table. Of the rows that match, the first wins.
// Labels are compared whole; a bracketed remark behind one, as in "Trust folder
// (work)", does not count.
type Dialog struct {
	Name string `json:"name"` // for reports
	Kind string `json:"kind"` // what it blocks on: permission, question, auth, trust, ratelimit; "" is question
	// Detect: any of these texts, anywhere above the options, identifies it.
	// Case counts; line breaks and box lines do not.
	Detect  []string `json:"detect"`
	Options []string `json:"options"` // labels it is known to offer
	Wanted  string   `json:"wanted"`  // the only label that Enter may ever be pressed on; "": never
	// Verify: any of these texts means that the answer was taken, although the
	// dialog may still be painted.
	Verify []string `json:"verify"`
	When   When     `json:"when"` // "" is Startup
}

// kinds are what a dialog may block on.
var kinds = []string{"permission", "question", "auth", "trust", "ratelimit"}

type table struct {
	Dialogs []Dialog `json:"dialogs"`
}

// The table is JSON and not TOML: this package is a leaf, and only
// internal/config knows the TOML library.
//
//go:embed dialogs.json
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

// ParseDialogs reads a table in JSON. Unknown keys are errors.
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

// Check completes the defaults and reports what makes the row useless or
// dangerous.
func (d *Dialog) Check() error {
	if d.When == "" {
		d.When = Startup
	}
	if d.Kind == "" {
		d.Kind = "question"
	}
	switch {
	case d.Name == "":
		return fmt.Errorf("dialog without a name")
	case len(d.Detect) == 0 || slices.Contains(d.Detect, ""):
		return fmt.Errorf("dialog %q: detect needs texts that are not empty", d.Name)
	case !slices.Contains(kinds, d.Kind):
		return fmt.Errorf("dialog %q: kind is %q; valid: %s", d.Name, d.Kind, strings.Join(kinds, ", "))
	case d.When != Startup && d.When != Report:
		return fmt.Errorf("dialog %q: when is %q; valid: %q, %q", d.Name, d.When, Startup, Report)
	case d.When == Startup && d.Wanted == "":
		return fmt.Errorf("dialog %q: wanted is missing", d.Name)
	case d.When == Startup && !slices.Contains(d.Options, d.Wanted):
		return fmt.Errorf("dialog %q: wanted %q is not among its options", d.Name, d.Wanted)
	}
	return nil
}
