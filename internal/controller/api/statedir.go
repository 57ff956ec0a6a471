package api

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// StateDir is the folder in which gc keeps the city's state.
func StateDir(city string) string { return filepath.Join(city, ".gc") }

// SocketPath is the controller's socket.
func SocketPath(city string) string { return filepath.Join(StateDir(city), "controller.sock") }

// LockPath is the file that a controller locks for as long as it runs.
func LockPath(city string) string { return filepath.Join(StateDir(city), "controller.lock") }

// LogPath is the log of a background controller.
func LogPath(city string) string { return filepath.Join(StateDir(city), "controller.log") }

// DBPath is the city's database.
func DBPath(city string) string { return filepath.Join(StateDir(city), "city.db") }

// MakeStateDir makes the city's .gc folder, private, and reports whether it did.
func MakeStateDir(city string) (made bool, err error) {
	err = os.Mkdir(StateDir(city), 0o700)
	switch {
	case err == nil:
		ignore := []byte("*\n")
		if err := os.WriteFile(StateDir(city)+"/.gitignore", ignore, 0o600); err != nil {
			os.Remove(StateDir(city))
			return false, StateDirError(city, err)
		}
		return true, nil
	case errors.Is(err, os.ErrExist):
		return false, nil
	}
	return false, StateDirError(city, err)
}

// StateDirError wraps a failure to use the .gc folder in an [ErrStateDir] with a
// hint.
func StateDirError(city string, err error) error {
	hint := "make the folder writable, or copy the city to one that is"
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		hint = "free some space on the disk of " + StateDir(city)
	}
	return Hinted(hint, "%w: %w", ErrStateDir, err)
}
