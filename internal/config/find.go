package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Find returns the directory of a command's city: flag (--city) if set,
// otherwise GC_CITY_PATH, otherwise GC_CITY if it is a path, otherwise the
// nearest directory upwards from cwd with a city.toml. ErrNoCity if there is
// none.
func Find(flag, cwd string, getenv func(string) string) (string, error) {
	for _, c := range []struct{ name, dir string }{
		{"--city", flag}, {"GC_CITY_PATH", getenv("GC_CITY_PATH")}, {"GC_CITY", pathOnly(getenv("GC_CITY"))},
	} {
		if c.dir == "" {
			continue
		}
		dir := Place(cwd, c.dir)
		if filepath.Base(dir) == FileName {
			dir = filepath.Dir(dir)
		}
		if !hasFile(dir) {
			return "", fmt.Errorf("%w: %s names %s, which has no %s", ErrNoCity, c.name, c.dir, FileName)
		}
		return dir, nil
	}
	for dir := filepath.Clean(cwd); ; dir = filepath.Dir(dir) {
		if hasFile(dir) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w: no %s in %s or any parent directory", ErrNoCity, FileName, cwd)
		}
	}
}

func pathOnly(v string) string {
	if strings.Contains(v, "/") {
		return v
	}
	return ""
}

func hasFile(dir string) bool {
	st, err := os.Stat(filepath.Join(dir, FileName))
	return err == nil && !st.IsDir()
}
