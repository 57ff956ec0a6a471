// Package toml reads TOML files strictly into structs.
//
// Its invariant: nothing is guessed. Bad syntax, unknown keys and values of the
// wrong type are all reported at once, with their positions, and a struct that
// embeds [Where] knows which keys the file set, and where. It knows nothing
// about the meaning of values.
package toml

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Pos is a position in a file; line and column count from 1. The zero Pos means
// "not in a file".
type Pos struct {
	Line   int
	Column int
}

// Problem is an error in a file.
type Problem struct {
	File   string
	Line   int // from 1; 0 = the file as a whole
	Column int // from 1, in bytes
	Msg    string
	Hint   string // how to fix it, may be empty
}

// Pos returns the problem's position.
func (p Problem) Pos() Pos { return Pos{Line: p.Line, Column: p.Column} }

// String returns "city.toml:3:1: message".
func (p Problem) String() string {
	name := filepath.Base(p.File)
	switch {
	case p.Line == 0:
		return name + ": " + p.Msg
	case p.Column == 0:
		return fmt.Sprintf("%s:%d: %s", name, p.Line, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", name, p.Line, p.Column, p.Msg)
}

// Problems is the error of an unusable file: everything wrong with it, in file
// order.
type Problems struct {
	List []Problem
}

// Error returns one line per problem, without the hints.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Hint returns the hint of the first problem that has one.
func (p *Problems) Hint() string {
	for _, one := range p.List {
		if one.Hint != "" {
			return one.Hint
		}
	}
	return ""
}

// maxProblems bounds a report: a file with more is not meant as config.
const maxProblems = 100

// Report collects the problems of one file.
type Report struct {
	file      string
	list      []Problem
	truncated bool
}

// NewReport returns an empty report about a file.
func NewReport(file string) *Report { return &Report{file: file} }

// Add adds a problem; past the first 100 it does nothing.
func (r *Report) Add(at Pos, hint, format string, args ...any) {
	if len(r.list) >= maxProblems {
		return
	}
	r.list = append(r.list, Problem{File: r.file, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// Has reports whether a problem was added at this position.
func (r *Report) Has(at Pos) bool {
	return slices.ContainsFunc(r.list, func(p Problem) bool { return p.Line == at.Line && p.Column == at.Column })
}

// Truncated reports whether bad syntax hid the rest of the file, so missing
// values may be there.
func (r *Report) Truncated() bool { return r.truncated }

// List returns the problems in file order.
func (r *Report) List() []Problem {
	slices.SortStableFunc(r.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return r.list
}

// Err returns a *Problems, or nil if there are none.
func (r *Report) Err() error {
	if len(r.list) == 0 {
		return nil
	}
	return &Problems{List: r.List()}
}
