package server

import "golang.org/x/sys/unix"

const tcgets, tcsets = unix.TCGETS, unix.TCSETS
