package trust

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// identity distinguishes a directory from one later created at the same path:
// inode and birth time (device numbers change with the boot). "" if unknown.
func identity(dir string) string {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, dir, 0, unix.STATX_INO|unix.STATX_BTIME, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%d:%d.%d", st.Ino, st.Btime.Sec, st.Btime.Nsec)
}
