package sshd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gascity.dev/gc/internal/proctree"
)

// addUser makes the host's user, or takes the test's.
func (h *Host) addUser() {
	useradd, err := exec.LookPath("useradd")
	if h.options.SameUser || os.Geteuid() != 0 || goruntime.GOOS != "linux" || err != nil {
		me, err := user.Current()
		h.check(err)
		h.User, h.UID = me.Username, os.Geteuid()
		return
	}
	h.User = "gct" + unique()
	// A password of * can never match, but does not lock the account as ! would.
	h.check(accounts(useradd, "-M", "-N", "-d", h.Home, "-s", "/bin/sh", "-p", "*", h.User))
	h.ownUser = true
	u, err := user.Lookup(h.User)
	h.check(err)
	h.UID, err = strconv.Atoi(u.Uid)
	h.check(err)
}

// accounts runs a program that changes the user database, one at a time on this
// machine.
func accounts(argv ...string) error {
	lock, err := os.OpenFile(filepath.Join(os.TempDir(), "gc-test-users.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", argv, err, out)
	}
	return nil
}

// Processes lists the live processes there: those of its user if it has one of its
// own, and those whose HOME or arguments name its directory.
func (h *Host) Processes() ([]proctree.Proc, error) {
	all, err := proctree.Table()
	if err != nil {
		return nil, err
	}
	var found []proctree.Proc
	for _, p := range all {
		if !p.Zombie() && p.PID != os.Getpid() && h.runs(p) {
			found = append(found, p)
		}
	}
	return found, nil
}

// runs reports whether a process belongs to the host and not to those who reach it.
func (h *Host) runs(p proctree.Proc) bool {
	if h.ownUser {
		return realUID(p.PID) == h.UID
	}
	if env, known, err := proctree.EnvironOf(p); known && err == nil && env["HOME"] == h.Home {
		return true
	}
	args, _ := proctree.Cmdline(p.PID) // none if it is gone
	return len(args) > 0 && filepath.Base(args[0]) != "ssh" && strings.Contains(strings.Join(args, "\n"), h.Home+"/")
}

// realUID returns -1 for a process that is gone.
func realUID(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(data) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == "Uid:" {
			if uid, err := strconv.Atoi(string(f[1])); err == nil {
				return uid
			}
		}
	}
	return -1
}

// End kills every process there, as a power failure does; see also Reboot.
func (h *Host) End() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		found, err := h.Processes()
		if err != nil || len(found) == 0 {
			h.fail(err)
			return
		}
		for _, p := range found {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // it may have ended
		}
		if err := proctree.AwaitEnd(ctx, found); err != nil && !errors.Is(err, proctree.ErrNotFound) {
			h.fail(fmt.Errorf("processes of %s do not end: %w", h.Name, err))
			return
		}
	}
}

// lastLog is how much of sshd's log a failed test shows, in bytes.
const lastLog = 2 << 10

// remove ends the host.
func (h *Host) remove() {
	if h.listener != nil {
		h.Down()
		h.fail(h.listener.Close())
		h.link.wait()
	}
	if h.User != "" {
		h.End()
	}
	if h.ns != nil {
		h.fail(h.ns.end())
	}
	if h.t.Failed() {
		log, _ := os.ReadFile(filepath.Join(h.base, "log"))
		h.t.Logf("sshd of %s:\n%s", h.Name, log[max(0, len(log)-lastLog):])
	}
	if h.ownUser {
		h.fail(accounts("userdel", h.User))
	}
	h.fail(os.RemoveAll(h.base))
}

func (h *Host) fail(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Error(err)
	}
}
