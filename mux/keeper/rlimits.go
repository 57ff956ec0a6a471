package keeper

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"gascity.dev/gc/mux/internal/sys"
	"golang.org/x/sys/unix"
)

// The limits of the starter's shell (ulimit) would also apply to the keeper and
// the server. A limit on the size of files also limits anonymous memory: no
// session could be created, and pages of history would be lost. Both lift such
// limits for themselves and start programs with the starter's limits.
var liftedLimits = []int{unix.RLIMIT_FSIZE, unix.RLIMIT_CPU}

// leastFile is the minimum limit on the size of files.
const leastFile = 1 << 30

// LiftLimits lifts the limits of this process as far as it may and returns the
// previous ones. It fails if the new limits are too low.
func LiftLimits() (found []sys.Rlimit, err error) {
	for _, resource := range liftedLimits {
		var old unix.Rlimit
		if unix.Getrlimit(resource, &old) != nil || old.Cur == unix.RLIM_INFINITY {
			continue
		}
		found = append(found, sys.Rlimit{uint64(resource), uint64(old.Cur), uint64(old.Max)})
		most := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
		if unix.Setrlimit(resource, &most) == nil {
			continue
		}
		most = unix.Rlimit{Cur: old.Max, Max: old.Max}
		if e := unix.Setrlimit(resource, &most); e != nil {
			most = old
		}
		if resource == unix.RLIMIT_FSIZE && most.Cur < leastFile {
			err = fmt.Errorf("files of this process may have %d bytes at most; start it from a shell whose hard limit (ulimit -H -f) is unlimited", most.Cur)
		}
	}
	return found, err
}

// withStarters adds the starter's limits to a program's own, which come first.
func withStarters(own, starters []sys.Rlimit) []sys.Rlimit {
	all := slices.Clone(own)
	for _, r := range starters {
		if !slices.ContainsFunc(own, func(o sys.Rlimit) bool { return o[0] == r[0] }) {
			all = append(all, r)
		}
	}
	return all
}

// packRlimit appends a limit's encoding on the wire, which arguments have in
// hexadecimal.
func packRlimit(dst []byte, r sys.Rlimit) []byte {
	for _, v := range r {
		dst = binary.LittleEndian.AppendUint64(dst, v)
	}
	return dst
}

// packedRlimit is the length of that encoding.
const packedRlimit = 24

func unpackRlimit(b []byte) sys.Rlimit {
	return sys.Rlimit{num(b[:8]), num(b[8:16]), num(b[16:packedRlimit])}
}

// FormatRlimits encodes limits as one argument.
func FormatRlimits(all []sys.Rlimit) string {
	var packed []byte
	for _, r := range all {
		packed = packRlimit(packed, r)
	}
	return hex.EncodeToString(packed)
}

// parseRlimits is the inverse of FormatRlimits.
func parseRlimits(arg string) ([]sys.Rlimit, error) {
	packed, err := hex.DecodeString(arg)
	if err != nil || len(packed)%packedRlimit != 0 {
		return nil, fmt.Errorf("%w: limits %q", ErrProtocol, arg)
	}
	var all []sys.Rlimit
	for b := range slices.Chunk(packed, packedRlimit) {
		all = append(all, unpackRlimit(b))
	}
	return all, nil
}
