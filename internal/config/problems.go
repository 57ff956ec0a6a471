package config

import (
	"errors"

	"gascity.dev/gc/internal/toml"
)

// ErrNoCity means that no city.toml was found.
var ErrNoCity = errors.New("no city found")

// The file reader's types.
type (
	Pos      = toml.Pos
	Where    = toml.Where
	Problem  = toml.Problem
	Problems = toml.Problems
)

// quote puts a word of the file in quotes.
func quote(s string) string { return `"` + s + `"` }
