package pod

import "golang.org/x/sys/unix"

// adoptOrphans makes this process the parent of its descendants' orphans, as the first
// process of a container is without it.
func adoptOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }
