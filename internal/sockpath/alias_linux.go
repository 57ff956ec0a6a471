package sockpath

import (
	"fmt"
	"os"
)

// shortAlias names an open folder by its descriptor.
func shortAlias(dir *os.File) (alias string, done func(), err error) {
	return fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), func() {}, nil
}
