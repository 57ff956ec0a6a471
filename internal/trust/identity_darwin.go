package trust

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity distinguishes a directory from one later created at the same path:
// inode and birth time (device numbers change with the boot). "" if unknown.
func identity(dir string) string {
	var st unix.Stat_t
	if err := unix.Stat(dir, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d.%d", st.Ino, st.Btim.Sec, st.Btim.Nsec)
}
