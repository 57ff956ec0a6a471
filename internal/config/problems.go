package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
)

// ErrNoCity means that no city.toml was found.
var ErrNoCity = errors.New("no city found")

// Pos is a place in a file, both parts counted from 1; the zero Pos is "not in
// a file".
type Pos struct {
	Line   int
	Column int
}

// Problem is one thing wrong with a config file.
type Problem struct {
	File   string
	Line   int // from 1; 0 = the file as a whole
	Column int // from 1, in bytes
	Msg    string
	Hint   string // what to do about it, may be empty
}

// String is "city.toml:3:1: message".
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

// Problems is the error of a config that cannot be used: everything wrong with
// it, in the order of the file.
type Problems struct {
	List []Problem
}

// Error has one line per problem, without the hints.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, one := range p.List {
		lines[i] = one.String()
	}
	return strings.Join(lines, "\n")
}

// Hint is the hint of the first problem that has one.
func (p *Problems) Hint() string {
	for _, one := range p.List {
		if one.Hint != "" {
			return one.Hint
		}
	}
	return ""
}

// maxProblems bounds the list: past it, a file is not a city.toml at all.
const maxProblems = 100

// collector gathers the problems of one file.
type collector struct {
	file string
	list []Problem
	cut  bool // the text could not be read to its end: what is missing may stand there
}

func (c *collector) add(at Pos, hint, format string, args ...any) {
	if len(c.list) >= maxProblems {
		return
	}
	c.list = append(c.list, Problem{File: c.file, Line: at.Line, Column: at.Column, Msg: fmt.Sprintf(format, args...), Hint: hint})
}

// reported reports whether there is a problem at this place already.
func (c *collector) reported(at Pos) bool {
	for _, p := range c.list {
		if p.Line == at.Line && p.Column == at.Column {
			return true
		}
	}
	return false
}

// err is nil when nothing was added.
func (c *collector) err() error {
	if len(c.list) == 0 {
		return nil
	}
	sort.SliceStable(c.list, func(i, j int) bool {
		a, b := c.list[i], c.list[j]
		if a.Line != b.Line {
			return a.Line < b.Line
		}
		return a.Column < b.Column
	})
	return &Problems{List: c.list}
}
