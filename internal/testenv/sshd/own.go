package sshd

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"syscall"

	"gascity.dev/gc/internal/testenv"
)

// Own is what a host has of its own. It lives in a mount namespace, which ends with the
// test's process at the latest.
type Own struct {
	Terminals int   // how many pseudo-terminals it has (devpts, max=)
	Home      int64 // size of the file system of its home, in bytes
}

// namespace is the mount namespace of a host with [Own].
type namespace struct {
	holder *exec.Cmd // lives until its input ends
	input  io.Closer
	boots  int // since the host began; guarded by link.mu
}

// unshare makes the namespace. The boot id of the machine, which Reboot changes, is the
// file "boot".
func (h *Host) unshare() {
	h.t.Helper()
	if goruntime.GOOS != "linux" || os.Geteuid() != 0 {
		testenv.Missing(h.t, "only root on Linux can give a host its own mounts")
	}
	testenv.Need(h.t, "unshare", "nsenter", "mount")
	script := "set -e\nmount --bind " + h.put("boot", newBootID(), 0o644) + " /proc/sys/kernel/random/boot_id\n"
	if n := h.options.Own.Terminals; n > 0 {
		script += fmt.Sprintf("mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,max=%d devpts /dev/pts\nmount --bind /dev/pts/ptmx /dev/ptmx\n", n)
	}
	if n := h.options.Own.Home; n > 0 {
		script += fmt.Sprintf("mount -t tmpfs -o size=%d,mode=0700,uid=%d tmpfs %s\n", n, h.UID, h.Home)
	}
	cmd := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script+"echo ready\nexec cat")
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	h.check(err)
	out, err := cmd.StdoutPipe()
	h.check(err)
	h.check(cmd.Start())
	h.ns = &namespace{holder: cmd, input: in}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		_ = cmd.Wait() // its words say more
		h.ns = nil
		h.t.Fatalf("mounts of %s: %v: %s", h.Name, err, errs.String())
	}
}

// end ends the namespace, once no process is in it.
func (n *namespace) end() error {
	_ = n.input.Close()
	return n.holder.Wait()
}

// argv, called with link.mu held, returns the command that runs another one in the namespace. A boot has less time
// behind it than the one before had, as on a machine that was up for long.
func (n *namespace) argv(argv ...string) []string {
	up := strconv.Itoa(longUptime >> n.boots)
	return append([]string{
		"nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", n.holder.Process.Pid), "--",
		"unshare", "--time", "--monotonic", up, "--boottime", up, "--",
	}, argv...)
}

// longUptime is the time since the first boot of a host, in seconds.
const longUptime = 10 * 24 * 3600

// Path returns the path by which the test reaches a file of the host.
func (h *Host) Path(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(h.Home, path)
	}
	if h.ns == nil {
		return path
	}
	return filepath.Join(fmt.Sprintf("/proc/%d/root", h.ns.holder.Process.Pid), path)
}

// Reboot ends everything that runs there and starts the host again: with another boot id,
// less uptime, and the same disks. Between the two, meanwhile is called, while the host is
// down. It needs Options.Own.
func (h *Host) Reboot(meanwhile func()) {
	h.t.Helper()
	h.needOwn()
	h.Down()
	h.End()
	h.link.mu.Lock()
	h.ns.boots++
	h.link.mu.Unlock()
	h.check(os.WriteFile(filepath.Join(h.base, "boot"), []byte(newBootID()), 0o644)) // in place: it is mounted
	if meanwhile != nil {
		meanwhile()
	}
	h.Up()
}

// FillHome leaves the given number of bytes free in the home directory. It needs Own.Home.
func (h *Host) FillHome(free int64) {
	h.t.Helper()
	h.needOwn()
	var fs syscall.Statfs_t
	h.check(syscall.Statfs(h.Path(""), &fs))
	f, err := os.OpenFile(h.Path(".fill"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	h.check(err)
	defer f.Close()
	_, err = io.CopyN(f, zeros{}, max(0, int64(fs.Bavail)*int64(fs.Bsize)-free))
	h.check(err)
}

// EmptyHome undoes FillHome.
func (h *Host) EmptyHome() {
	h.t.Helper()
	h.check(os.Remove(h.Path(".fill")))
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func (h *Host) needOwn() {
	h.t.Helper()
	if h.ns == nil {
		h.t.Fatal("sshd: this needs Options.Own")
	}
}

// newBootID returns what random/boot_id contains after a boot.
func newBootID() string {
	id := unique() + unique() + unique()
	return fmt.Sprintf("%s-%s-%s-%s-%s\n", id[:8], id[8:12], id[12:16], id[16:20], id[20:32])
}
