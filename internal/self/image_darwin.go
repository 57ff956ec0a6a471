package self

import "os"

// ownImage is this program.
func ownImage() (string, error) { return os.Executable() }
