package limits

import (
	"bufio"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/mux/api"
	"golang.org/x/sys/unix"
)

const (
	rlimitNproc  = unix.RLIMIT_NPROC
	rlimitMemory = unix.RLIMIT_DATA // the address space that runtimes only reserve does not count
)

// Make makes a group of processes below one that this user may change, and sets
// the limits that it can enforce. Source: the kernel's
// Documentation/admin-guide/cgroup-v2.rst.
func Make(p api.Paths, id string, l api.Limits) *Cgroup {
	own, top, err := Own()
	if err != nil {
		return &Cgroup{Reason: err.Error()}
	}
	return makeCgroupBelow(own, top, cgroupName(p), id, l)
}

// cgroupName is the name of one server's group of groups.
func cgroupName(p api.Paths) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(p.Dir)) // never fails
	return fmt.Sprintf("gc-mux-%08x", h.Sum32())
}

// makeCgroupBelow tries own and the groups above it, up to top: a group that
// has processes cannot delegate controllers, but its parent can. The first that
// delegates every controller wins, otherwise the one that delegates the most.
func makeCgroupBelow(own, top, name, id string, l api.Limits) *Cgroup {
	want := map[string]string{}
	if l.MemoryBytes > 0 {
		want[controlMemory] = strconv.FormatInt(l.MemoryBytes, 10)
	}
	if l.PIDs > 0 {
		want[controlPIDs] = strconv.FormatInt(l.PIDs, 10)
	}
	if l.CPUs > 0 {
		want[controlCPU] = fmt.Sprintf("%d %d", int64(l.CPUs*cpuPeriod), cpuPeriod)
	}
	base, most := "", -1
	for dir := own; strings.HasPrefix(dir, top); dir = filepath.Dir(dir) {
		if unix.Access(dir, unix.W_OK) != nil || unix.Access(dir+"/cgroup.procs", unix.W_OK) != nil {
			break // a process cannot be moved across it either
		}
		if n := delegate(dir, want); n > most {
			base, most = dir, n
		}
		if most == len(want) || dir == top {
			break
		}
	}
	if base == "" {
		return &Cgroup{Reason: "this user cannot change the cgroup " + own}
	}
	group := filepath.Join(base, name)
	g := &Cgroup{dir: filepath.Join(group, id), control: make(map[string]bool)}
	err := mkdirs(group, g.dir)
	if errors.Is(err, fs.ErrNotExist) { // the server's group was removed with its last session
		err = mkdirs(group, g.dir)
	}
	if err != nil {
		return &Cgroup{Reason: err.Error()}
	}
	delegate(group, want)
	for controller, value := range want {
		err := writeFile(filepath.Join(g.dir, controller+".max"), value)
		g.control[controller] = err == nil
	}
	if g.control[controlMemory] {
		_ = writeFile(filepath.Join(g.dir, "memory.swap.max"), "0") // swap would evade the limit
	}
	return g
}

const cpuPeriod = 100_000 // microseconds

func mkdirs(dirs ...string) error {
	for _, d := range dirs {
		if err := os.Mkdir(d, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	return nil
}

// delegate delegates controllers to the children of a group and returns
// how many succeeded.
func delegate(dir string, want map[string]string) int {
	n := 0
	for c := range want {
		if !hasWord(filepath.Join(dir, "cgroup.subtree_control"), c) {
			_ = writeFile(filepath.Join(dir, "cgroup.subtree_control"), "+"+c)
		}
		if hasWord(filepath.Join(dir, "cgroup.subtree_control"), c) {
			n++
		}
	}
	return n
}

func hasWord(file, word string) bool {
	b, err := os.ReadFile(file)
	return err == nil && slices.Contains(strings.Fields(string(b)), word)
}

// writeFile writes to an existing file.
func writeFile(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(text)
	return err
}

// Own is this process's group, and the highest that can be seen.
func Own() (own, top string, err error) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", "", fmt.Errorf("cgroup: %w", err)
	}
	path := ""
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSpace(rest)
		}
	}
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", "", fmt.Errorf("cgroup: %w", err)
	}
	defer f.Close()
	// 36 35 98:0 /root /mount options … - cgroup2 source options (proc(5))
	for lines := bufio.NewScanner(f); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields := strings.Fields(before)
		if !ok || len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") || path == "" {
			continue
		}
		rest, below := strings.CutPrefix(path, strings.TrimSuffix(fields[3], "/"))
		if !below {
			continue
		}
		return filepath.Join(fields[4], rest), fields[4], nil
	}
	return "", "", errors.New("no cgroup of version 2 is mounted")
}

// PIDs are the processes of a group and of the groups in it.
func PIDs(dir string) (pids []int) {
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // a group removed meanwhile has no processes
		}
		b, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for word := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// Kill kills a whole group at once (Linux 5.14).
func Kill(dir string) { _ = writeFile(filepath.Join(dir, "cgroup.kill"), "1") }

// Remove removes a group when its last process is gone, at the latest
// after cgroupWait.
func Remove(dir string) error {
	for end := time.Now().Add(cgroupWait); ; {
		err := removeGroups(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			_ = syscall.Rmdir(filepath.Dir(dir)) // the server's group, if this was its last
			return nil
		}
		left := time.Until(end)
		if !errors.Is(err, syscall.EBUSY) || left <= 0 {
			return err
		}
		if err := awaitEmpty(dir, left); err != nil {
			return err
		}
	}
}

// removeGroups removes a group and the groups in it, the innermost first.
func removeGroups(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := removeGroups(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return syscall.Rmdir(dir)
}

const cgroupWait = 10 * time.Second

// awaitEmpty waits, at most for most, until the group may be empty: the kernel
// reports a change by POLLPRI on cgroup.events.
func awaitEmpty(dir string, most time.Duration) error {
	fd, err := unix.Open(filepath.Join(dir, "cgroup.events"), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	b := make([]byte, 256)
	n, err := unix.Read(fd, b)
	if err != nil || strings.Contains(string(b[:n]), "populated 0") {
		return err
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLPRI}}, int(most.Milliseconds())+1)
	if errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}

// UserTasks counts the processes and threads of this user, as RLIMIT_NPROC
// does.
func UserTasks() (int, error) {
	dirs, err := os.ReadDir("/proc")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, d := range dirs {
		if _, err := strconv.Atoi(d.Name()); err != nil {
			continue
		}
		var st unix.Stat_t
		if unix.Stat("/proc/"+d.Name(), &st) != nil || int(st.Uid) != unix.Getuid() {
			continue
		}
		tasks, _ := os.ReadDir("/proc/" + d.Name() + "/task") // it may end meanwhile
		n += len(tasks)
	}
	return n, nil
}
