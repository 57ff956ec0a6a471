package proctree

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func get(pid int) (Proc, error) {
	var buf [1024]byte
	return readStat(pid, buf[:])
}

// table reads every process, then repeats for processes born meanwhile until
// there are none. Otherwise a process whose child is born after the first pass,
// and which then exits, would hide the child. Everything alive during the last
// pass is in the table.
func table() ([]Proc, error) {
	var procs []Proc
	var buf [1024]byte
	seen := make(map[string]bool)
	for grown := true; grown; {
		names, err := procNames()
		if err != nil {
			return nil, fmt.Errorf("process table: %w", err)
		}
		grown = false
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil || seen[name] {
				continue
			}
			seen[name], grown = true, true
			p, err := readStat(pid, buf[:])
			if errors.Is(err, ErrNotFound) || errors.Is(err, fs.ErrPermission) {
				continue
			}
			if err != nil {
				return nil, err
			}
			procs = append(procs, p)
		}
	}
	slices.SortFunc(procs, func(a, b Proc) int { return a.PID - b.PID })
	return procs, nil
}

func procNames() ([]string, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	return names, err
}

// readStat reads /proc/PID/stat. The line has about 350 bytes; buf bounds it.
func readStat(pid int, buf []byte) (Proc, error) {
	path := procPath(pid, "stat")
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return Proc{}, procError(pid, err)
	}
	n, err := syscall.Read(fd, buf)
	_ = syscall.Close(fd)
	if err != nil {
		return Proc{}, procError(pid, err)
	}
	p, ok := parseStat(buf[:n])
	if !ok {
		return Proc{}, fmt.Errorf("%s: unexpected format %.80q", path, buf[:n])
	}
	return p, nil
}

// parseStat parses a stat line. The name in parentheses may contain spaces and
// parentheses: the last one closes it. Fields — proc_pid_stat(5).
func parseStat(line []byte) (p Proc, ok bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 2 || end < open {
		return p, false
	}
	f := strings.Fields(string(line[end+1:]))
	if len(f) < 20 || len(f[0]) != 1 {
		return p, false
	}
	ok = true
	num := func(s string) int {
		n, err := strconv.Atoi(s)
		ok = ok && err == nil
		return n
	}
	p.PID = num(string(bytes.TrimSpace(line[:open])))
	p.Comm = string(line[open+1 : end])
	p.State = f[0][0]
	p.PPID, p.PGID, p.SID = num(f[1]), num(f[2]), num(f[3])
	p.TTY, p.TPGID = uint64(uint32(num(f[4]))), num(f[5])
	p.Threads = num(f[17])
	start, err := strconv.ParseUint(f[19], 10, 64)
	p.Start = start
	return p, ok && err == nil
}

func environ(pid int) (map[string]string, error) {
	data, err := readProc(pid, "environ")
	if err != nil {
		return nil, err
	}
	return splitEnviron(data), nil
}

func environOf(p Proc) (map[string]string, bool, error) {
	data, known, err := stableEnviron(p)
	return splitEnviron(data), known, err
}

func splitEnviron(data []byte) map[string]string {
	env := make(map[string]string)
	for _, kv := range splitNul(data) {
		if name, value, ok := strings.Cut(kv, "="); ok {
			env[name] = value
		}
	}
	return env
}

// execWait bounds the wait for a process inside execve.
const (
	execWait  = 20 * time.Millisecond
	execRetry = 200 * time.Microsecond
)

// stableEnviron returns the environment of a process. It waits for one inside
// execve, which has lost its old environment and not yet got the new one
// (mm->env_end is 0, fs/proc/base.c). known is false if the wait was in vain.
func stableEnviron(p Proc) (data []byte, known bool, err error) {
	empty := 0 // reads that returned no bytes
	for deadline := time.Now().Add(execWait); ; time.Sleep(execRetry) {
		data, err := readProc(p.PID, "environ")
		if err != nil || len(data) > 0 || p.PID == kthreadd || p.PPID == kthreadd {
			return data, true, err
		}
		start, end, err := environBounds(p.PID)
		if err != nil || !p.Alive() {
			return nil, true, err
		}
		if empty++; end == 0 || start != end {
			empty = 0
		}
		if empty == 2 { // execve sets one bound after the other
			return nil, true, nil
		}
		if time.Now().After(deadline) {
			return nil, false, nil
		}
	}
}

// environBounds returns where a process's environment is in its memory; 0 if it
// has none yet (proc_pid_stat(5), env_start and env_end).
func environBounds(pid int) (start, end uint64, err error) {
	line, err := readProc(pid, "stat")
	if err != nil {
		return 0, 0, err
	}
	f := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(f) < 49 {
		return 0, 0, fmt.Errorf("process %d: unexpected format %.80q", pid, line)
	}
	start, err = strconv.ParseUint(f[47], 10, 64)
	if err == nil {
		end, err = strconv.ParseUint(f[48], 10, 64)
	}
	return start, end, err
}

// hasMarker reports whether a process was started with one of the marker ids; known is
// false if that cannot be determined yet. A process whose environment is not
// readable is not marked.
func hasMarker(p Proc, ids map[string]bool) (is, known bool) {
	data, known, err := stableEnviron(p)
	if err != nil || !known {
		return false, known
	}
	for len(data) > 0 {
		var kv []byte
		kv, data, _ = bytes.Cut(data, []byte{0})
		name, value, _ := bytes.Cut(kv, []byte{'='})
		if (string(name) == SessionVar || string(name) == MarkerVar) && ids[string(value)] {
			return true, true
		}
	}
	return false, true
}

// kthreadd is the parent of all kernel threads.
const kthreadd = 2

func cmdline(pid int) ([]string, error) {
	data, err := readProc(pid, "cmdline")
	if err != nil {
		return nil, err
	}
	return splitNul(data), nil
}

// userTick is the unit of times in /proc, USER_HZ, which is 100 on every architecture that Go
// runs on.
const userTick = 10 * time.Millisecond

// cpu adds up utime, stime, cutime and cstime — proc_pid_stat(5).
func cpu(pid int) (time.Duration, error) {
	line, err := readProc(pid, "stat")
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	if len(f) < 15 {
		return 0, fmt.Errorf("process %d: unexpected format %.80q", pid, line)
	}
	var sum int64
	for _, text := range f[11:15] {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		sum += n
	}
	return time.Duration(sum) * userTick, nil
}

func exe(pid int) (string, error) {
	path, err := os.Readlink(procPath(pid, "exe"))
	if err != nil {
		return "", procError(pid, err)
	}
	// The kernel's suffix for an executable that was replaced or removed.
	return strings.TrimSuffix(path, " (deleted)"), nil
}

func readProc(pid int, name string) ([]byte, error) {
	f, err := os.Open(procPath(pid, name))
	if err != nil {
		return nil, procError(pid, err)
	}
	data, err := io.ReadAll(f)
	_ = f.Close()
	if err != nil {
		return nil, procError(pid, err)
	}
	return data, nil
}

func procPath(pid int, name string) string {
	return "/proc/" + strconv.Itoa(pid) + "/" + name
}

// procError maps errors: a process that ends while being read gives ESRCH.
func procError(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		err = ErrNotFound
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

// splitNul splits NUL-terminated strings.
func splitNul(data []byte) []string {
	if len(data) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\x00"), "\x00")
}
