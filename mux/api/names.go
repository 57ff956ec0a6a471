package api

import "fmt"

// MaxName is the length of the longest name of a session, in bytes.
const MaxName = 200

// CheckName returns ErrBadName unless name is 1 to 200 bytes of [A-Za-z0-9._-] that
// do not start with "-" or ".".
func CheckName(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("%w: it must have 1 to %d bytes", ErrBadName, MaxName)
	}
	if name[0] == '-' || name[0] == '.' {
		return fmt.Errorf("%w: %q starts with %q", ErrBadName, name, name[0])
	}
	for _, c := range name {
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
		if !ok {
			return fmt.Errorf("%w: %q holds %q; letters, digits, '.', '_' and '-' are allowed", ErrBadName, name, c)
		}
	}
	return nil
}
