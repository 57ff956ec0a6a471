package config

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed init.toml
var initText string

// ErrCityExists means that Init found a city.toml.
var ErrCityExists = errors.New("a city already exists")

// Init creates dir, if necessary, with a commented city.toml whose city can
// start immediately, and returns the path of the file. On ErrCityExists nothing
// is changed.
func Init(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("init %s: %w", dir, err)
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return "", fmt.Errorf("init %s: %w", dir, err)
	}
	file := filepath.Join(abs, FileName)
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return file, fmt.Errorf("init %s: %w", dir, ErrCityExists)
	}
	if err != nil {
		return "", fmt.Errorf("init %s: %w", dir, err)
	}
	_, err = f.WriteString(InitText(filepath.Base(abs)))
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(file)
		return "", fmt.Errorf("init %s: %w", dir, err)
	}
	return file, nil
}

// InitText returns the city.toml that Init writes for a directory of this name.
func InitText(folder string) string {
	name := strconv.Quote(cityName(folder))
	text := strings.Replace(initText, `"@NAME@"`, name, 1)
	return strings.Replace(text, "@PRESETS@", strings.Join(PresetNames(), ", "), 1)
}

// cityName derives a plain name from a directory's name.
func cityName(folder string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, folder)
	name = strings.Trim(name, "-.")
	if len(name) > 60 {
		name = strings.Trim(name[:60], "-.")
	}
	if name == "" {
		return "city"
	}
	return name
}
