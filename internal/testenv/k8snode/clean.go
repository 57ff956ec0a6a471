//go:build linux

package k8snode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The files in a node's directory that say what to undo.
const (
	pidsFile   = "pids"        // "pid start-time" of every program, a line each
	kernelFile = "kernel.json" // settings and network namespaces from before
)

// kernelSettings are changed by the kubelet and the network plugins.
var kernelSettings = []string{
	"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
	"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward",
}

type kernel struct {
	Settings   map[string]string
	Namespaces []string
}

// remember notes a process for a later clean-up.
func (n *Node) remember(pid int) error {
	f, err := os.OpenFile(filepath.Join(n.dir, pidsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, pid, startTime(pid))
	return err
}

func (n *Node) saveKernel() error {
	before := kernel{Settings: map[string]string{}, Namespaces: namespaces()}
	for _, name := range kernelSettings {
		if value, err := os.ReadFile("/proc/sys/" + name); err == nil {
			before.Settings[name] = strings.TrimSpace(string(value))
		}
	}
	return writeJSON(filepath.Join(n.dir, kernelFile), before)
}

// clean removes every trace of a node, also of one whose test was killed. The
// order matters: nothing may start a container meanwhile.
func (n *Node) clean() error {
	if _, err := os.Stat(n.dir); errors.Is(err, fs.ErrNotExist) {
		return refuseOtherKubelet()
	}
	n.killPrograms(func(program string) bool { return program != Containerd })
	if err := killContainers(); err != nil {
		return err
	}
	n.killShims()
	n.Kill(Containerd)
	n.killPrograms(func(string) bool { return true })
	if err := n.unmount(); err != nil {
		return err
	}
	if err := n.restoreKernel(); err != nil {
		return err
	}
	if err := removeCgroups(); err != nil {
		return err
	}
	n.removeStrayFiles()
	return os.RemoveAll(n.dir)
}

// refuseOtherKubelet protects the containers of a node that is not ours.
func refuseOtherKubelet() error {
	if dirs := cgroups(); len(dirs) > 0 {
		return fmt.Errorf("a kubelet that is not of a test uses %s", dirs[0])
	}
	return nil
}

// killPrograms ends the programs of a start before this one: those that were
// noted and are still the same processes.
func (n *Node) killPrograms(which func(program string) bool) {
	data, _ := os.ReadFile(filepath.Join(n.dir, pidsFile)) // none before the first program
	for line := range strings.Lines(string(data)) {
		var pid int
		var start string
		if _, err := fmt.Sscan(line, &pid, &start); err != nil || start == "" || startTime(pid) != start {
			continue
		}
		name := Containerd
		if argv := arguments(pid); len(argv) > 1 && filepath.Base(argv[0]) == "k8s-node" {
			name = argv[1]
		}
		if which(name) && n.running[name] == nil {
			killAndWait(pid)
		}
	}
}

// killContainers ends every process of a pod. Their cgroups name them.
func killContainers() error {
	return until("processes of pods do not end", func() bool {
		left := false
		for _, dir := range cgroups() {
			_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.Name() == "cgroup.procs" {
					left = killListed(path) || left
				}
				return nil // a cgroup may disappear meanwhile
			})
		}
		return !left
	})
}

func killListed(file string) bool {
	data, _ := os.ReadFile(file) // it may have disappeared
	for _, field := range strings.Fields(string(data)) {
		if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	return len(data) > 0
}

// killShims ends the parents of containers, which are children of no program
// here. Each has the address of our containerd in its arguments.
func (n *Node) killShims() {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		argv := arguments(pid)
		if len(argv) > 0 && strings.HasPrefix(filepath.Base(argv[0]), "containerd-shim") && slices.Contains(argv, n.socket()) {
			killAndWait(pid)
		}
	}
}

// unmount detaches the volumes, root file systems and network namespaces, the
// innermost first.
func (n *Node) unmount() error {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	lines := strings.Split(string(mounts), "\n")
	slices.Reverse(lines)
	for _, line := range lines {
		fields := strings.Fields(line)
		if len(fields) > 1 && strings.HasPrefix(fields[1], n.dir+"/") {
			if err := syscall.Unmount(fields[1], syscall.MNT_DETACH); err != nil && !errors.Is(err, syscall.EINVAL) {
				return fmt.Errorf("unmount %s: %w", fields[1], err)
			}
		}
	}
	return nil
}

// restoreKernel removes the network of pods and puts the settings back.
func (n *Node) restoreKernel() error {
	data, err := os.ReadFile(filepath.Join(n.dir, kernelFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var before kernel
	if err := json.Unmarshal(data, &before); err != nil {
		return err
	}
	for _, path := range namespaces() {
		if !slices.Contains(before.Namespaces, path) {
			_ = syscall.Unmount(path, syscall.MNT_DETACH) // it may not be mounted yet
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	if _, err := os.Stat("/sys/class/net/" + bridge); err == nil {
		if _, err := output(context.Background(), "", "ip", "link", "delete", bridge); err != nil {
			return err
		}
	}
	for name, value := range before.Settings {
		if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeStrayFiles removes what containerd, the kubelet and the network plugins
// keep outside of the node's directory.
func (n *Node) removeStrayFiles() {
	addresses, _ := filepath.Glob(filepath.Join(n.containerdState(), "io.containerd.runtime.v2.task", "k8s.io", "*", "address"))
	for _, file := range addresses {
		if socket, err := os.ReadFile(file); err == nil {
			_ = os.Remove(strings.TrimPrefix(string(socket), "unix://"))
		}
	}
	// Files are named NETWORK-SANDBOX-INTERFACE; the loopback's network is not ours alone.
	const results = "/var/lib/cni/results/"
	ours, _ := filepath.Glob(results + network + "-*")
	for _, file := range ours {
		sandbox, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(file), network+"-"), "-")
		all, _ := filepath.Glob(results + "*-" + sandbox + "-*")
		for _, file := range all {
			_ = os.Remove(file)
		}
	}
	logs, _ := filepath.Glob("/var/log/containers/*.log")
	for _, link := range logs {
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, n.dir) {
			_ = os.Remove(link)
		}
	}
}

// namespaces returns the network namespaces that network plugins use.
func namespaces() []string {
	found, _ := filepath.Glob("/var/run/netns/cni-*")
	return found
}

// cgroups returns the roots of the pods' cgroups, of either version.
func cgroups() []string {
	v1, _ := filepath.Glob("/sys/fs/cgroup/*/kubepods")
	v2, _ := filepath.Glob("/sys/fs/cgroup/kubepods")
	return append(v1, v2...)
}

// removeCgroups waits for ended processes to leave their cgroups.
func removeCgroups() error {
	return until("cgroups of pods remain", func() bool {
		for _, root := range cgroups() {
			var dirs []string
			_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if err == nil && d.IsDir() {
					dirs = append(dirs, path)
				}
				return nil
			})
			slices.Reverse(dirs)
			for _, dir := range dirs {
				_ = syscall.Rmdir(dir) // tried again while a process is in it
			}
		}
		return len(cgroups()) == 0
	})
}

// killAndWait ends a process and waits for it. If it is not our child, its
// parent reaps it.
func killAndWait(pid int) {
	_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	_ = until("a process does not end", func() bool { return startTime(pid) == "" })
}

// until waits up to 20 s for what the kernel does not announce.
func until(problem string, done func() bool) error {
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			return errors.New(problem)
		}
	}
	return nil
}

// startTime identifies a process together with its pid; "" for one that has
// ended, reaped or not.
func startTime(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

func arguments(pid int) []string {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
	return strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
}
