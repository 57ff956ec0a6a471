package keeper

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/mux/internal/slack"
	"gascity.dev/gc/mux/internal/sys"
)

// fork starts the program of s on a terminal or on pipes and enters it into
// the table. mu is held, so that reaping waits.
func (k *keeper) fork(s *Spec) (*Entry, error) {
	if s.ID == "" || len(s.Argv) == 0 || k.table[s.ID] != nil || len(s.Data) > maxEntryData {
		return nil, fmt.Errorf("%w: spawn %q", ErrProtocol, s.ID)
	}
	ours, theirs, err := openStdio(s)
	if err != nil {
		return nil, err
	}
	attr := &syscall.SysProcAttr{Setsid: true, Setctty: s.Stdio == StdioPTY}
	closeCgroup, err := sys.JoinCgroup(attr, s.Cgroup)
	if err != nil {
		sys.CloseAll(append(ours, theirs...))
		return nil, err
	}
	path, argv := s.Path, s.Argv
	files := []uintptr{uintptr(theirs[0]), uintptr(theirs[1]), uintptr(theirs[2])}
	if limits := withStarters(s.Rlimits, k.starters); len(limits) > 0 {
		path, argv, files = k.limited(s, limits, files)
	}
	old := unix.Umask(s.Umask)
	var pid int
	slack.Do(k.slack, func() {
		pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Sys: attr, Files: files})
	})
	unix.Umask(old)
	closeCgroup()
	closeUnique(theirs)
	if errors.Is(err, unix.EBADF) { // dup3(2)'s error for a number past the limit
		err = unix.EMFILE
	}
	if err != nil {
		sys.CloseAll(ours)
		return nil, fmt.Errorf("%s: %w", s.Path, err)
	}
	e := &Entry{ID: s.ID, Kind: EntrySession, PID: pid, Data: s.Data, FDs: ours, Own: len(ours)}
	if p, err := proctree.Get(pid); err == nil { // not reaped yet: mu is held
		e.Start = p.Start
	}
	k.table[s.ID], k.byPID[pid] = e, e
	return e, nil
}

// openStdio returns the keeper's ends and the child's standard descriptors.
func openStdio(s *Spec) (ours, theirs []int, err error) {
	switch s.Stdio {
	case stdioPipes:
		return openPipes()
	case StdioMixed:
		ours, theirs, err := openPipes()
		if err != nil {
			return nil, nil, err
		}
		sys.CloseAll([]int{ours[2], theirs[2]})
		return []int{ours[1], ours[0]}, []int{theirs[0], theirs[1], theirs[1]}, nil
	}
	master, slave, err := sys.OpenTerminal()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	ws := unix.Winsize{Row: s.Rows, Col: s.Cols}
	if err := unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &ws); err != nil {
		sys.CloseAll([]int{master, slave})
		return nil, nil, fmt.Errorf("set the terminal's size: %w", err)
	}
	return []int{master}, []int{slave, slave, slave}, nil
}

// openPipes returns the keeper's ends (stdin, stdout, stderr) and the child's.
func openPipes() (ours, theirs []int, err error) {
	for i := range 3 {
		r, w, err := sys.CloexecPipe()
		if err != nil {
			sys.CloseAll(append(ours, theirs...))
			return nil, nil, fmt.Errorf("open a pipe: %w", err)
		}
		mine, yours := r, w
		if i == 0 {
			mine, yours = w, r
		}
		ours, theirs = append(ours, sys.MoveFD(mine)), append(theirs, sys.MoveFD(yours))
		_ = unix.SetNonblock(ours[i], true)
	}
	return ours, theirs, nil
}

// closeUnique closes descriptors that may be repeated.
func closeUnique(fds []int) {
	for i, fd := range fds {
		if i == 0 || fd != fds[i-1] {
			unix.Close(fd)
		}
	}
}

// limited returns a command that limits itself and then executes the program:
// limits set from outside would come too late.
func (k *keeper) limited(s *Spec, limits []sys.Rlimit, files []uintptr) (path string, argv []string, more []uintptr) {
	path = k.image.path
	if k.image.fd >= 0 {
		path = fmt.Sprintf("/proc/self/fd/%d", len(files))
		files = append(files, uintptr(k.image.fd))
	}
	return path, append([]string{SpawnName, Mark, FormatRlimits(limits), s.Path}, s.Argv...), files
}

// RunSpawn sets the limits in args[0] and executes args[1] with the arguments
// args[2:]. It returns only on failure.
func RunSpawn(args []string) int {
	if len(args) < 3 {
		return 2
	}
	DropImage(3)
	limits, err := parseRlimits(args[0])
	if err != nil {
		return 2
	}
	for _, l := range limits {
		r := unix.Rlimit{}
		sys.SetRlimit(&r, l[1], l[2])
		if err := unix.Setrlimit(int(l[0]), &r); err != nil {
			fmt.Fprintf(os.Stderr, "gc: limit %d: %v\n", l[0], err)
			return 126
		}
	}
	err = syscall.Exec(args[1], args[2:], os.Environ())
	fmt.Fprintf(os.Stderr, "gc: %s: %v\n", args[1], err)
	return 126
}

// WaitPID waits until a process has ended, a child or not.
func WaitPID(pid int) {
	for {
		p, err := proctree.Get(pid)
		if err != nil || p.Zombie() {
			return
		}
		if sys.PollExit(pid) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
