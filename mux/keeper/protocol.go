package keeper

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/sys"
)

// The daemons' names in argv[0], and this protocol's marker in argv[1]. A gc
// that a person runs has neither.
const (
	Name       = "gc-keeper"
	ServerName = "gc-server"
	SpawnName  = "gc-spawn"
	Mark       = "mux-1"
)

// IsDaemon reports whether a process with these arguments is a keeper, a server, or a
// program on its way to being executed by [RunSpawn].
func IsDaemon(argv []string) bool {
	return len(argv) > 1 && argv[1] == Mark &&
		(argv[0] == Name || argv[0] == ServerName || argv[0] == SpawnName)
}

// Keeper protocol 1. It is frozen: keepers run for months under servers of
// any later version, so kinds and tags are only ever added, and both ends
// ignore the ones they do not know.
//
// A stream socket carries frames in both directions:
//
//	u32  length of what follows, little endian, 4 to maxKeeperFrame
//	u16  kind
//	u16  number of descriptors that belong to the frame, at most 253; they
//	     travel as SCM_RIGHTS with its first byte
//	     fields: u16 tag, u32 length, bytes
//
// Integers in fields are u64, little endian. Lists repeat the field. Every
// request has tagSeq, which its reply repeats.
//
// The keeper's table has entries: an id (any bytes, chosen by the server),
// descriptors, opaque data, and for a session the process. The ids of plain
// deposits are the server's own business; a server keeps the listening socket
// and journals there.
//
//	server → keeper
//	hello     version                             → welcome
//	spawn     id argv… env… path dir umask rlimit… stdio cols rows cgroup data
//	          fd…   descriptors to hold with the process    → spawned | failed
//	deposit   id data fd…   new entry, or the entry's new data and descriptors
//	                        (those of a session's process stay)   → ok
//	adopt     id pid start data exit fd…  a session whose keeper died → ok
//	forget    id…           closes descriptors, drops entries     → ok
//	list                    → entries…, then listed
//	upgrade   fd text data  image, path and version of the next server → ok
//	ready                   the server serves
//	refuse    text          the server cannot start, and why
//	stop                    when this server ends, end too
//	trim      id ownfds     closes all but the first of a process's descriptors
//
//	keeper → server
//	welcome   version pid since restarts text (why the last upgrade failed)
//	          rlimit… (the starter's, which programs get)
//	spawned   id pid start fd…    master; or stdin, stdout, stderr; or output, stdin
//	failed    errno text
//	entries   entry…        each field holds fields: id kind pid start nfds
//	                        data exit; fds in the entries' order
//	listed
//	exit      id pid status time  a notice; the table, sent again with every
//	                        list, is the truth
//	ok
const (
	kindHello   = 1
	kindSpawn   = 2
	kindDeposit = 3
	kindAdopt   = 4
	kindForget  = 5
	kindList    = 6
	kindUpgrade = 7
	KindReady   = 8
	KindRefuse  = 9
	KindStop    = 10
	kindTrim    = 11

	kindWelcome = 65
	kindSpawned = 66
	kindFailed  = 67
	kindEntries = 68
	kindListed  = 69
	kindExit    = 70
	kindOK      = 71
)

// Tags of fields.
const (
	tagSeq      = 1
	tagID       = 2
	tagData     = 3
	tagPID      = 4
	tagStart    = 5  // start time of the process in clock ticks, against PID reuse
	tagStatus   = 6  // wait status, as wait4 returns it
	tagTime     = 7  // Unix nanoseconds
	tagText     = 8  // for a person
	tagErrno    = 9  //
	tagArgv     = 10 // repeated
	tagEnv      = 11 // repeated
	tagPath     = 12 // executable
	tagDir      = 13 //
	tagUmask    = 14 //
	tagRlimit   = 15 // repeated: resource, soft, hard as three u64
	tagStdio    = 16 // StdioPTY, stdioPipes, StdioMixed
	tagCols     = 17 //
	tagRows     = 18 //
	tagCgroup   = 19 // directory of a cgroup v2 to start in
	tagEntry    = 20 // nested fields
	tagKind     = 21 // EntrySession, entryDeposit
	tagFDs      = 22 // number of descriptors of an entry
	tagVersion  = 23 // of the protocol
	tagRestarts = 24 // of the server
	tagSince    = 25 // Unix nanoseconds
	tagExited   = 26 // 1: the process ended
	tagOwnFDs   = 27 // how many of an entry's descriptors came with its process
	tagForeign  = 28 // 1: adopted; the keeper does not learn of its exit
)

// Values of tagStdio and tagKind.
const (
	StdioPTY   = 0
	stdioPipes = 1
	StdioMixed = 2 // one pipe for stdout and stderr, and one for stdin: the order of output is kept

	EntrySession = 0
	entryDeposit = 1
)

const (
	keeperProtocol = 1
	maxKeeperFrame = 8 << 20 // ARG_MAX, and then some
	maxKeeperFDs   = 253     // SCM_MAX_FD
	maxEntryData   = 1 << 20
	frameHeader    = 8
)

// ErrProtocol means that the peer does not speak protocol 1.
var ErrProtocol = errors.New("keeper protocol violated")

// frame is one message, with descriptors that the receiver owns.
type frame struct {
	kind uint16
	body []byte
	fds  []int
	lost bool // its descriptors did not arrive: too many open files here
}

// fields is a body under construction.
type fields []byte

func (f fields) bytes(tag uint16, v []byte) fields {
	f = binary.LittleEndian.AppendUint16(f, tag)
	f = binary.LittleEndian.AppendUint32(f, uint32(len(v)))
	return append(f, v...)
}

func (f fields) str(tag uint16, v string) fields {
	f = binary.LittleEndian.AppendUint16(f, tag)
	f = binary.LittleEndian.AppendUint32(f, uint32(len(v)))
	return append(f, v...)
}

func (f fields) num(tag uint16, v uint64) fields {
	f = binary.LittleEndian.AppendUint16(f, tag)
	f = binary.LittleEndian.AppendUint32(f, 8)
	return binary.LittleEndian.AppendUint64(f, v)
}

// eachField calls fn for every field. It never allocates; fn must not keep the
// bytes.
func eachField(body []byte, fn func(tag uint16, v []byte) error) error {
	for len(body) > 0 {
		if len(body) < 6 {
			return fmt.Errorf("%w: truncated field", ErrProtocol)
		}
		tag, n := binary.LittleEndian.Uint16(body), binary.LittleEndian.Uint32(body[2:])
		if uint64(n) > uint64(len(body)-6) {
			return fmt.Errorf("%w: field %d has %d bytes of %d", ErrProtocol, tag, n, len(body)-6)
		}
		if err := fn(tag, body[6:6+n]); err != nil {
			return err
		}
		body = body[6+n:]
	}
	return nil
}

// num reads an integer field; anything but eight bytes is 0.
func num(v []byte) uint64 {
	if len(v) != 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(v)
}

// appendFrame appends the frame's bytes. ErrTooLarge if the peer would refuse
// it.
func appendFrame(dst []byte, kind uint16, body []byte, nfds int) ([]byte, error) {
	if len(body)+4 > maxKeeperFrame {
		return dst, fmt.Errorf("%w: %d bytes for the keeper", api.ErrTooLarge, len(body))
	}
	if nfds > maxKeeperFDs {
		return dst, fmt.Errorf("%w: %d descriptors in one message", api.ErrTooLarge, nfds)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(body)+4))
	dst = binary.LittleEndian.AppendUint16(dst, kind)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(nfds))
	return append(dst, body...), nil
}

// frameSize checks a header and returns the length of the body, the kind and
// the number of descriptors.
func frameSize(h []byte) (body int, kind, nfds uint16, err error) {
	n := binary.LittleEndian.Uint32(h)
	kind, nfds = binary.LittleEndian.Uint16(h[4:]), binary.LittleEndian.Uint16(h[6:])
	if n < 4 || n > maxKeeperFrame || nfds > maxKeeperFDs {
		return 0, 0, 0, fmt.Errorf("%w: frame of %d bytes with %d descriptors", ErrProtocol, n, nfds)
	}
	return int(n) - 4, kind, nfds, nil
}

// Spec is the content of a spawn request.
type Spec struct {
	ID         string
	Path       string
	Argv, Env  []string
	Dir        string
	Umask      int
	Rlimits    []sys.Rlimit
	Stdio      uint64
	Cols, Rows uint16
	Cgroup     string
	Data       []byte
}

func (s *Spec) encode() fields {
	var f fields
	f = f.str(tagID, s.ID).str(tagPath, s.Path).str(tagDir, s.Dir).str(tagCgroup, s.Cgroup)
	f = f.num(tagUmask, uint64(s.Umask)).num(tagStdio, s.Stdio)
	f = f.num(tagCols, uint64(s.Cols)).num(tagRows, uint64(s.Rows)).bytes(tagData, s.Data)
	for _, a := range s.Argv {
		f = f.str(tagArgv, a)
	}
	for _, e := range s.Env {
		f = f.str(tagEnv, e)
	}
	for _, r := range s.Rlimits {
		f = f.bytes(tagRlimit, packRlimit(nil, r))
	}
	return f
}

func decodeSpawn(body []byte) (s Spec, seq uint64, err error) {
	err = eachField(body, func(tag uint16, v []byte) error {
		switch tag {
		case tagSeq:
			seq = num(v)
		case tagID:
			s.ID = string(v)
		case tagPath:
			s.Path = string(v)
		case tagArgv:
			s.Argv = append(s.Argv, string(v))
		case tagEnv:
			s.Env = append(s.Env, string(v))
		case tagDir:
			s.Dir = string(v)
		case tagUmask:
			s.Umask = int(num(v) & 0o777)
		case tagStdio:
			s.Stdio = num(v)
		case tagCols:
			s.Cols = uint16(num(v))
		case tagRows:
			s.Rows = uint16(num(v))
		case tagCgroup:
			s.Cgroup = string(v)
		case tagData:
			s.Data = append([]byte(nil), v...)
		case tagRlimit:
			if len(v) == packedRlimit {
				s.Rlimits = append(s.Rlimits, unpackRlimit(v))
			}
		}
		return nil
	})
	return s, seq, err
}

// Entry is one row of the keeper's table, as both ends see it.
type Entry struct {
	ID      string
	Kind    uint64
	PID     int
	Start   uint64
	Data    []byte
	Exited  bool
	Status  uint32
	Ended   int64 // Unix nanoseconds
	Own     int   // how many of FDs came with the process
	Foreign bool  // adopted: the keeper is not its parent
	FDs     []int // the master or pipes first, then deposits
}

func (e *Entry) encode() fields {
	var f fields
	f = f.str(tagID, e.ID).num(tagKind, e.Kind).num(tagPID, uint64(e.PID)).num(tagStart, e.Start)
	f = f.num(tagFDs, uint64(len(e.FDs))).num(tagOwnFDs, uint64(e.Own)).bytes(tagData, e.Data)
	if e.Foreign {
		f = f.num(tagForeign, 1)
	}
	if e.Exited {
		f = f.num(tagExited, 1).num(tagStatus, uint64(e.Status)).num(tagTime, uint64(e.Ended))
	}
	return f
}

// decodeEntry reads an entry without its descriptors; nfds is how many it has.
func decodeEntry(body []byte) (e Entry, nfds int, err error) {
	err = eachField(body, func(tag uint16, v []byte) error {
		switch tag {
		case tagID:
			e.ID = string(v)
		case tagKind:
			e.Kind = num(v)
		case tagPID:
			e.PID = int(num(v))
		case tagStart:
			e.Start = num(v)
		case tagData:
			e.Data = append([]byte(nil), v...)
		case tagExited:
			e.Exited = num(v) == 1
		case tagStatus:
			e.Status = uint32(num(v))
		case tagTime:
			e.Ended = int64(num(v))
		case tagForeign:
			e.Foreign = num(v) == 1
		case tagFDs:
			if num(v) > maxKeeperFDs {
				return fmt.Errorf("%w: entry with %d descriptors", ErrProtocol, num(v))
			}
			nfds = int(num(v))
		case tagOwnFDs:
			e.Own = int(min(num(v), maxKeeperFDs))
		}
		return nil
	})
	return e, nfds, err
}
