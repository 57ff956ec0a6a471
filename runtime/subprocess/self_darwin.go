package subprocess

import "os"

// executable is the path of this program.
func executable() (string, error) { return os.Executable() }
