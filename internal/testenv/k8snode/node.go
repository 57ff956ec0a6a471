//go:build linux

package k8snode

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// The node's name and the addresses of the network inside it. Because of the
// name, the API server reaches the kubelet over loopback.
const (
	Name           = "localhost"
	bridge         = "gck8s0"
	network        = "gc-k8s-test"
	podRange       = "10.88.0.0/24"
	serviceRange   = "10.96.0.0/24"
	serviceAddress = "10.96.0.1"
	pauseImage     = "gc.local/pause:1"
)

// The programs of a node, for [Node.Kill] and [Node.Run].
const (
	Etcd              = "etcd"
	Containerd        = "containerd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
)

// Node is a running cluster of one node.
type Node struct {
	// Kubeconfig is the path of a client configuration with every permission.
	Kubeconfig string

	dir     string
	lock    *os.File
	bin     programs
	ports   ports
	api     *apiClient
	running map[string]*process
	service *service // nil: not served yet
}

type ports struct{ api, etcd, etcdPeer, kubelet, controllers, scheduler int }

// Start brings a node up and returns when it is Ready and pods can be created.
func Start(ctx context.Context) (*Node, error) {
	if err := check(); err != nil {
		return nil, err
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	n := &Node{dir: filepath.Join(cache, "run"), running: map[string]*process{}}
	if n.lock, err = lock(filepath.Join(cache, "lock")); err != nil {
		return nil, err
	}
	if err = n.start(ctx, cache); err != nil {
		return nil, errors.Join(err, n.Stop())
	}
	return n, nil
}

func (n *Node) start(ctx context.Context, cache string) (err error) {
	if n.bin, err = build(ctx, cache); err != nil {
		return err
	}
	if err := n.clean(); err != nil { // of a test that was killed
		return err
	}
	if err := n.prepare(); err != nil {
		return err
	}
	for _, program := range []string{Etcd, Containerd, APIServer} {
		if err := n.Run(program); err != nil {
			return err
		}
	}
	if err := n.awaitContainerd(ctx); err != nil {
		return err
	}
	pause := Bare(pauseImage, n.bin.pause)
	if err := n.Import(ctx, pause); err != nil {
		return err
	}
	if err := n.AwaitAPI(ctx); err != nil {
		return err
	}
	if n.service, err = serve(ctx, n.ports.api); err != nil {
		return err
	}
	for _, program := range []string{ControllerManager, Scheduler, Kubelet} {
		if err := n.Run(program); err != nil {
			return err
		}
	}
	if err := n.AwaitReady(ctx); err != nil {
		return err
	}
	return n.awaitDefaultAccount(ctx)
}

// Stop ends every process and container of the node and removes its traces. It
// may be called again.
func (n *Node) Stop() error {
	if n.lock == nil {
		return nil
	}
	for _, program := range []string{Kubelet, Scheduler, ControllerManager, APIServer, Etcd} {
		n.Kill(program)
	}
	err := n.clean()
	if n.service != nil {
		err = errors.Join(err, n.service.close())
	}
	if closeErr := n.lock.Close(); err == nil {
		err = closeErr
	}
	n.lock = nil
	return err
}

// Kubectl returns a command that runs kubectl as the administrator.
func (n *Node) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, n.bin.node, append([]string{"kubectl"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+n.Kubeconfig)
	return cmd
}

// Server returns the address of the API server.
func (n *Node) Server() string { return "https://127.0.0.1:" + strconv.Itoa(n.ports.api) }

// check names what the machine lacks.
func check() error {
	if os.Geteuid() != 0 {
		return errors.New("a Kubernetes node requires root")
	}
	for _, program := range []string{"go", "containerd", "ctr", "runc", "busybox", "ip"} {
		if _, err := lookPath(program); err != nil {
			return err
		}
	}
	_, err := os.Stat(filepath.Join(networkPlugins, "bridge"))
	return err
}

// lookPath also looks where Debian installs programs for root.
func lookPath(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if path, errThere := exec.LookPath(filepath.Join(dir, program)); errThere == nil {
			return path, nil
		}
	}
	return "", err
}

// lock waits until no other node runs. The lock ends with the process.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return f, nil
}

// freePorts returns ports that nothing listens on. They are held together, so
// that they differ.
func freePorts(into ...*int) error {
	for _, port := range into {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close()
		*port = l.Addr().(*net.TCPAddr).Port
	}
	return nil
}
