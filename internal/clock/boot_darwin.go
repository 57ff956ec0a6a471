package clock

import "golang.org/x/sys/unix"

// Boot identifies the boot of the machine (sysctl(3), kern.bootsessionuuid); ""
// if unknown.
func Boot() string {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return ""
	}
	return id
}
