package subprocess

import "os"

// executable is this program.
func executable() (string, error) { return os.Executable() }
