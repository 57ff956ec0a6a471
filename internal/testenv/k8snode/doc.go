// Package k8snode runs a real Kubernetes node for tests: etcd, API server,
// controller manager, scheduler, kubelet and containerd, on loopback and with
// its own images, without a registry. It needs root, the Go module proxy for the
// first build, and Debian's containerd, runc, containernetworking-plugins,
// busybox-static and iproute2.
//
// One node runs on a machine at a time: Start waits for the lock. Stop leaves no
// process, mount, cgroup, network namespace or changed setting of the kernel;
// what a killed test left behind is removed by the next Start.
//
// Only tests with the tags k8s and e2e import it. It knows Kubernetes by its
// HTTP API and nothing of gc.
package k8snode
