package subprocess

// executable is the path of this program, even after the file was replaced.
func executable() (string, error) { return "/proc/self/exe", nil }
