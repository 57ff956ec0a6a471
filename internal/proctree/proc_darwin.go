package proctree

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// States of struct extern_proc's p_stat, sys/proc.h.
const stateLetters = "?IRSTZ"

func get(pid int) (Proc, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) || err == nil && int(k.Proc.P_pid) != pid {
		err = ErrNotFound
	}
	if err != nil {
		return Proc{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return fromKinfo(k), nil
}

func table() ([]Proc, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, fmt.Errorf("process table: %w", err)
	}
	procs := make([]Proc, 0, len(list))
	for i := range list {
		procs = append(procs, fromKinfo(&list[i]))
	}
	slices.SortFunc(procs, func(a, b Proc) int { return a.PID - b.PID })
	return procs, nil
}

func fromKinfo(k *unix.KinfoProc) Proc {
	p := Proc{
		PID:   int(k.Proc.P_pid),
		PPID:  int(k.Eproc.Ppid),
		PGID:  int(k.Eproc.Pgid),
		TPGID: int(k.Eproc.Tpgid),
		State: '?',
		Start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		Comm:  unix.ByteSliceToString(k.Proc.P_comm[:]),
	}
	if tty := k.Eproc.Tdev; tty != -1 {
		p.TTY = uint64(uint32(tty))
	}
	if s := int(k.Proc.P_stat); s >= 0 && s < len(stateLetters) {
		p.State = stateLetters[s]
	}
	// The structure's session pointer is a kernel address.
	if sid, err := unix.Getsid(p.PID); err == nil {
		p.SID = sid
	}
	return p
}

// procArgs reads KERN_PROCARGS2: the argument count, the executable's path
// padded with NULs, the arguments, the environment.
func procArgs(pid int) (path string, args, env []string, err error) {
	data, err := unix.SysctlRaw("kern.procargs2", pid)
	if err != nil {
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EIO) || errors.Is(err, unix.ESRCH) {
			err = ErrNotFound
		}
		return "", nil, nil, fmt.Errorf("process %d: %w", pid, err)
	}
	if len(data) < int(unsafe.Sizeof(int32(0))) {
		return "", nil, nil, fmt.Errorf("process %d: %w", pid, ErrNotFound)
	}
	argc := int(binary.NativeEndian.Uint32(data))
	path, rest, _ := strings.Cut(string(data[4:]), "\x00")
	for _, s := range strings.Split(strings.TrimLeft(rest, "\x00"), "\x00") {
		switch {
		case len(args) < argc:
			args = append(args, s)
		case s == "":
			return path, args, env, nil
		default:
			env = append(env, s)
		}
	}
	return path, args, env, nil
}

func environ(pid int) (map[string]string, error) {
	_, _, list, err := procArgs(pid)
	if err != nil {
		return nil, err
	}
	env := make(map[string]string)
	for _, kv := range list {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env, nil
}

func environOf(p Proc) (map[string]string, bool, error) {
	env, err := environ(p.PID)
	return env, true, err
}

func hasMarker(p Proc, ids map[string]bool) (is, known bool) {
	_, _, env, err := procArgs(p.PID)
	return err == nil && slices.ContainsFunc(env, func(kv string) bool {
		name, value, _ := strings.Cut(kv, "=")
		return (name == SessionVar || name == MarkerVar) && ids[value]
	}), true
}

func cmdline(pid int) ([]string, error) {
	_, args, _, err := procArgs(pid)
	return args, err
}

func cpu(int) (time.Duration, error) { return 0, errors.ErrUnsupported }

func exe(pid int) (string, error) {
	path, _, _, err := procArgs(pid)
	if err != nil {
		return "", err
	}
	return filepath.Clean(path), nil
}
