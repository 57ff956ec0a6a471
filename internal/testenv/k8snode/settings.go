//go:build linux

package k8snode

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

const networkPlugins = "/usr/lib/cni"

// prepare writes keys and configuration files.
func (n *Node) prepare() error {
	for _, dir := range []string{"pki", "network", "kubelet"} {
		if err := os.MkdirAll(filepath.Join(n.dir, dir), 0o700); err != nil {
			return err
		}
	}
	if err := n.saveKernel(); err != nil {
		return err
	}
	p := &n.ports
	if err := freePorts(&p.api, &p.etcd, &p.etcdPeer, &p.kubelet, &p.controllers, &p.scheduler); err != nil {
		return err
	}
	if err := n.issue(); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.dir, "containerd.toml"), []byte(n.containerdConfig()), 0o600); err != nil {
		return err
	}
	if err := writeJSON(filepath.Join(n.dir, "network", "10-"+network+".conflist"), n.networkConfig()); err != nil {
		return err
	}
	return writeJSON(filepath.Join(n.dir, "kubelet.json"), n.kubeletConfig())
}

// issue makes the certificates of this start.
func (n *Node) issue() error {
	ca, err := newAuthority(filepath.Join(n.dir, "pki"))
	if err != nil {
		return err
	}
	if err := ca.server("apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc"); err != nil {
		return err
	}
	if err := ca.server("kubelet-server", Name); err != nil {
		return err
	}
	for _, who := range []identity{
		{"admin", "admin", []string{"system:masters"}},
		{"apiserver-client", "kube-apiserver-kubelet-client", []string{"system:masters"}},
		{"controllers", "system:kube-controller-manager", nil},
		{"scheduler", "system:kube-scheduler", nil},
		{"kubelet", "system:node:" + Name, []string{"system:nodes"}},
	} {
		if err := ca.client(who); err != nil {
			return err
		}
		if _, err := ca.kubeconfig(who.file, n.Server()); err != nil {
			return err
		}
	}
	n.Kubeconfig = ca.path("admin.kubeconfig")
	n.api, err = newAPIClient(n.Server(), ca)
	return err
}

func (n *Node) pki(name string) string { return filepath.Join(n.dir, "pki", name) }

func (n *Node) socket() string { return filepath.Join(n.dir, "containerd.sock") }

// command returns how a program is started; nil for an unknown one.
func (n *Node) command(program string) []string {
	local := func(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }
	port := strconv.Itoa
	switch program {
	case Containerd:
		return []string{"containerd", "--config", filepath.Join(n.dir, "containerd.toml")}
	case Etcd: // no fsync: nothing here outlives the machine
		return []string{
			n.bin.node, program, "--data-dir", filepath.Join(n.dir, "etcd"), "--unsafe-no-fsync", "--log-level", "warn",
			"--listen-client-urls", local(n.ports.etcd), "--advertise-client-urls", local(n.ports.etcd),
			"--listen-peer-urls", local(n.ports.etcdPeer), "--initial-advertise-peer-urls", local(n.ports.etcdPeer),
			"--initial-cluster", "default=" + local(n.ports.etcdPeer),
		}
	case APIServer:
		return []string{
			n.bin.node, program, "--etcd-servers", local(n.ports.etcd),
			"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", port(n.ports.api),
			"--endpoint-reconciler-type", "none", "--service-cluster-ip-range", serviceRange,
			"--authorization-mode", "Node,RBAC", "--enable-admission-plugins", "NodeRestriction", "--allow-privileged",
			"--tls-cert-file", n.pki("apiserver.crt"), "--tls-private-key-file", n.pki("apiserver.key"), "--client-ca-file", n.pki("ca.crt"),
			"--kubelet-client-certificate", n.pki("apiserver-client.crt"), "--kubelet-client-key", n.pki("apiserver-client.key"),
			"--kubelet-certificate-authority", n.pki("ca.crt"), "--kubelet-preferred-address-types", "Hostname",
			"--service-account-issuer", "https://kubernetes.default.svc",
			"--service-account-key-file", n.pki("ca.key"), "--service-account-signing-key-file", n.pki("ca.key"),
		}
	case ControllerManager:
		return []string{
			n.bin.node, program, "--kubeconfig", n.pki("controllers.kubeconfig"),
			"--bind-address", "127.0.0.1", "--secure-port", port(n.ports.controllers), "--leader-elect=false",
			"--service-account-private-key-file", n.pki("ca.key"), "--root-ca-file", n.pki("ca.crt"),
			"--use-service-account-credentials", "--node-monitor-period", "2s", "--node-monitor-grace-period", "20s",
		}
	case Scheduler:
		return []string{
			n.bin.node, program, "--kubeconfig", n.pki("scheduler.kubeconfig"),
			"--bind-address", "127.0.0.1", "--secure-port", port(n.ports.scheduler), "--leader-elect=false",
		}
	case Kubelet:
		return []string{
			n.bin.node, program, "--kubeconfig", n.pki("kubelet.kubeconfig"), "--config", filepath.Join(n.dir, "kubelet.json"),
			"--root-dir", filepath.Join(n.dir, "kubelet"), "--cert-dir", filepath.Join(n.dir, "kubelet", "pki"), "--hostname-override", Name,
		}
	}
	return nil
}

// containerdConfig is for containerd 1.6 and later, with a runtime that uses
// cgroups as files, because nothing here requires systemd.
func (n *Node) containerdConfig() string {
	return fmt.Sprintf(`version = 2
root = %[1]q
state = %[2]q
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
address = %[3]q

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = %[4]q
disable_apparmor = true
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = %[5]q
conf_dir = %[6]q

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false
`, filepath.Join(n.dir, "containerd"), n.containerdState(), n.socket(), pauseImage, networkPlugins, filepath.Join(n.dir, "network"))
}

func (n *Node) containerdState() string { return filepath.Join(n.dir, "containerd-state") }

func (n *Node) networkConfig() any {
	type object = map[string]any
	return object{"cniVersion": "0.4.0", "name": network, "plugins": []object{
		{
			"type": "bridge", "bridge": bridge, "isGateway": true, "ipMasq": false, "hairpinMode": true,
			"ipam": object{"type": "host-local", "dataDir": filepath.Join(n.dir, "addresses"), "ranges": [][]object{{{"subnet": podRange}}},
				"routes": []object{{"dst": serviceRange}}},
		},
		{"type": "loopback"},
	}}
}

func (n *Node) kubeletConfig() any {
	type object = map[string]any
	return object{
		"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
		"address": "127.0.0.1", "port": n.ports.kubelet, "healthzPort": 0,
		"tlsCertFile": n.pki("kubelet-server.crt"), "tlsPrivateKeyFile": n.pki("kubelet-server.key"),
		"authentication":           object{"anonymous": object{"enabled": false}, "webhook": object{"enabled": false}, "x509": object{"clientCAFile": n.pki("ca.crt")}},
		"authorization":            object{"mode": "AlwaysAllow"},
		"containerRuntimeEndpoint": "unix://" + n.socket(),
		"cgroupDriver":             "cgroupfs", "failCgroupV1": false, "failSwapOn": false,
		"makeIPTablesUtilChains": false, "clusterDomain": "cluster.local", "resolvConf": "",
		"podLogsDir": filepath.Join(n.dir, "pod-logs"), "volumePluginDir": filepath.Join(n.dir, "volume-plugins"),
		"evictionHard":                object{"memory.available": "100Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%"},
		"imageGCHighThresholdPercent": 100,
		"nodeStatusUpdateFrequency":   "4s", "syncFrequency": "10s", "volumeStatsAggPeriod": "3s", "shutdownGracePeriod": "0s",
	}
}

func writeJSON(path string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}
