package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/toml"
)

// Size is a terminal size, written "120x40" (columns by rows).
type Size struct {
	Cols, Rows int
}

// The limits of a terminal's size.
const (
	minCols, minRows = 2, 1
	maxCols, maxRows = 2000, 2000
)

// String returns the spelling in the file.
func (s Size) String() string { return strconv.Itoa(s.Cols) + "x" + strconv.Itoa(s.Rows) }

// ParseSize parses "120x40".
func ParseSize(text string) (Size, error) {
	c, r, ok := strings.Cut(text, "x")
	cols, err1 := strconv.Atoi(c)
	rows, err2 := strconv.Atoi(r)
	if !ok || err1 != nil || err2 != nil {
		return Size{}, fmt.Errorf("%q is not a size", text)
	}
	if cols < minCols || rows < minRows || cols > maxCols || rows > maxRows {
		return Size{}, fmt.Errorf("%q is outside %dx%d to %dx%d", text, minCols, minRows, maxCols, maxRows)
	}
	return Size{Cols: cols, Rows: rows}, nil
}

func (s *Size) UnmarshalTOML(v toml.Value) (string, error) {
	const hint = `write columns x rows: "120x40"`
	if v.Kind() != toml.String {
		return hint, fmt.Errorf("must be a size, not %s", v.Kind())
	}
	size, err := ParseSize(v.Text())
	if err != nil {
		return hint, err
	}
	*s = size
	return "", nil
}

// Bytes is an amount of memory, written as a number of bytes or "64MiB".
type Bytes int64

// units of Bytes, long spellings first.
var units = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12},
	{"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30}, {"T", 1 << 40}, {"B", 1},
}

// ParseBytes parses "512", "64MiB", "1.5GB" (K, M, G and Ki, Mi, Gi are powers
// of 1024, KB, MB, GB of 1000).
func ParseBytes(text string) (Bytes, error) {
	num, factor := strings.TrimSpace(text), 1.0
	for _, u := range units {
		if cut, ok := strings.CutSuffix(num, u.suffix); ok {
			num, factor = strings.TrimSpace(cut), u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v*factor >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not an amount of memory", text)
	}
	return Bytes(v * factor), nil
}

func (b *Bytes) UnmarshalTOML(v toml.Value) (string, error) {
	const hint = `write a number of bytes or "64MiB"`
	switch {
	case v.Kind() == toml.Int && v.Int() >= 0:
		*b = Bytes(v.Int())
		return "", nil
	case v.Kind() == toml.Int:
		return hint, fmt.Errorf("%d is negative", v.Int())
	case v.Kind() != toml.String:
		return hint, fmt.Errorf("must be an amount of memory, not %s", v.Kind())
	}
	amount, err := ParseBytes(v.Text())
	if err != nil {
		return hint, err
	}
	*b = amount
	return "", nil
}

// CPU is a number of processors, written 1.5 or "500m".
type CPU float64

func (c *CPU) UnmarshalTOML(v toml.Value) (string, error) {
	const hint = `write a number of processors: 2, 0.5 or "500m"`
	var cpus float64
	switch v.Kind() {
	case toml.Int:
		cpus = float64(v.Int())
	case toml.Float:
		cpus = v.Float()
	case toml.String:
		num, milli := strings.CutSuffix(v.Text(), "m")
		f, err := strconv.ParseFloat(num, 64)
		if err != nil {
			return hint, fmt.Errorf("%q is not a number of processors", v.Text())
		}
		if cpus = f; milli {
			cpus /= 1000
		}
	default:
		return hint, fmt.Errorf("must be a number of processors, not %s", v.Kind())
	}
	if math.IsNaN(cpus) || math.IsInf(cpus, 0) || cpus < 0 {
		return hint, fmt.Errorf("%v is not a number of processors", cpus)
	}
	*c = CPU(cpus)
	return "", nil
}
