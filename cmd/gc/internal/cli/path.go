package cli

import "path/filepath"

// RealPath is the absolute path of a directory, with symbolic links resolved if
// possible.
func RealPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir
}
