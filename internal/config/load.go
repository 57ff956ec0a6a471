package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"gascity.dev/gc/internal/toml"
)

// maxFile is the maximum size of a city.toml, in bytes.
const maxFile = 8 << 20

// A Check finds problems in values that this package does not interpret. The
// city may have other problems.
type Check func(*City) []Problem

// Load reads DIR/city.toml. The error is a *Problems with everything wrong,
// including the checks' findings, or ErrNoCity, or an *UnsafeError if other
// users can write the file or its directory, or a read error.
func Load(dir string, checks ...Check) (*City, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", dir, err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real
	}
	file := filepath.Join(abs, FileName)
	st, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s does not exist", ErrNoCity, file)
	case err != nil:
		return nil, fmt.Errorf("load %s: %w", file, err)
	case !st.Mode().IsRegular():
		return nil, fmt.Errorf("load %s: not a file", file)
	case st.Size() > maxFile:
		return nil, fmt.Errorf("load %s: larger than %d bytes", file, maxFile)
	}
	if err := CheckOwner(file); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", file, err)
	}
	c, err := Parse(file, data, checks...)
	if err == nil {
		c.NameID = nameID(c.Dir)
	}
	return c, err
}

// Parse parses the text of a city.toml; file is its absolute path, which need
// not exist. It opens no other file.
func Parse(file string, data []byte, checks ...Check) (*City, error) {
	out := toml.NewReport(file)
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors write a byte order mark
	c := &City{Dir: filepath.Dir(file), File: file}
	c.setDefaults()
	doc := toml.Parse(data, out)
	doc.Rename("agent", "agents", out)
	doc.Decode(c, out)
	for i := range c.Agents {
		if c.Agents[i].Pool != nil {
			c.Agents[i].Pool.setPoolDefaults()
		}
	}
	presets, err := Presets()
	if err != nil {
		return nil, err
	}
	c.presets = presets
	c.validate(out)
	for _, check := range checks {
		for _, p := range check(c) {
			out.Add(p.Pos(), p.Hint, "%s", p.Msg)
		}
	}
	if err := out.Err(); err != nil {
		return nil, err
	}
	return c, nil
}
