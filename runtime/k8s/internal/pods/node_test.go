//go:build linux && k8s && e2e

package pods

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"gascity.dev/gc/internal/testenv/k8snode"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podspec"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/k8s/settings"
)

const (
	namespace = "restricted"
	image     = "gc.local/box:1"
)

// standIn installs itself as gc does, and then runs what follows "pod-run".
const standIn = `#!/bin/sh
case $1 in
pod-install) cp "$0" "$2" ;;
*) shift; exec "$@" ;;
esac
`

// TestNode runs pods on a real node, in a namespace with Pod Security
// "restricted".
func TestNode(t *testing.T) {
	n, ctx := k8snode.Run(t, 30*time.Minute) // with the first build
	p := prepare(ctx, t, n)

	t.Run("Exits", func(t *testing.T) {
		created := create(ctx, t, p, "exits", nil, "sh", "-c", `test "$PWD" = /workspace && echo x >"$HOME/f" && echo x >/tmp/f && test "$(id -u)" = 1000 && exit 7`)
		ended := await(ctx, t, p, created.Name, ended)
		if e := podstate.Exit(ended); e.Text() != "exit status 7" || e.Disrupted {
			t.Errorf("%s", e.Text())
		}
		again := create(ctx, t, p, "exits", nil, "true") // in place of the one that has ended
		if again.UID == created.UID {
			t.Error("it is the same pod")
		}
	})
	t.Run("OutOfMemory", func(t *testing.T) {
		created := create(ctx, t, p, "hungry", func(s *settings.Settings) {
			s.Requests["memory"], s.Limits["memory"] = "16Mi", "32Mi"
		}, "tail", "/dev/zero")
		pod := await(ctx, t, p, created.Name, ended)
		if e := podstate.Exit(pod); e.Reason != podstate.OOMKilled || e.Disrupted {
			t.Errorf("%s", e.Text())
		}
	})
	t.Run("Trouble", func(t *testing.T) {
		for reason, change := range map[string]func(*settings.Settings){
			"ErrImagePull":               func(s *settings.Settings) { s.Image = "127.0.0.1:1/none:1" },
			"ErrImageNeverPull":          func(s *settings.Settings) { s.Image, s.ImagePullPolicy = "gc.local/none:1", "Never" },
			"CreateContainerConfigError": func(s *settings.Settings) { s.EnvFromSecret = []string{"none"} },
			"Unschedulable":              func(s *settings.Settings) { s.Requests["cpu"] = "1000" },
		} {
			created := create(ctx, t, p, reason, change, "true")
			pod := await(ctx, t, p, created.Name, func(pod *corev1.Pod) bool { return podstate.StartTrouble(pod) != nil })
			if got := podstate.StartTrouble(pod); got.Reason != reason && !(reason == "ErrImagePull" && got.Reason == "ImagePullBackOff") {
				t.Errorf("%v, want %s", got, reason)
			}
			if err := p.Delete(ctx, created, 0); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("Live", func(t *testing.T) {
		created := create(ctx, t, p, "live", nil, "sh", "-c", "trap 'exit 3' TERM; while :; do sleep 0.1; done")
		await(ctx, t, p, created.Name, running)
		if _, err := p.Create(ctx, sessionPod(t, "live", nil, "true")); !errors.Is(err, runtime.ErrSessionExists) {
			t.Errorf("a second one: %v", err)
		}
		metadata(ctx, t, p, created)
		earlier := created.DeepCopy()
		earlier.UID = "00000000-0000-0000-0000-000000000000"
		if err := p.Delete(ctx, earlier, 0); err != nil {
			t.Errorf("delete an earlier pod: %v", err)
		}
		losesTheAPIServer(ctx, t, n, p, created)
		losesTheNode(ctx, t, n, p, created)
		if err := p.Delete(ctx, created, 5*time.Second); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Get(created.Name); err != nil || got != nil {
			t.Errorf("after Delete: %v, %v", got, err)
		}
	})
}

// prepare makes the image and the namespace and watches its pods.
func prepare(ctx context.Context, t *testing.T, n *k8snode.Node) *Pods {
	t.Helper()
	box, err := k8snode.Busybox(ctx, image)
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "gc")
	if err := os.WriteFile(script, []byte(standIn), 0o755); err != nil {
		t.Fatal(err)
	}
	box.Files["usr/local/bin/gc"] = script
	if err := n.Import(ctx, box); err != nil {
		t.Fatal(err)
	}
	if err := n.Namespace(ctx, namespace, k8snode.Restricted); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", n.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(client, Options{Namespace: namespace, City: "c1", Stale: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	watching, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() { p.Run(watching); close(done) }()
	t.Cleanup(func() { stop(); <-done })
	await(ctx, t, p, "none", func(pod *corev1.Pod) bool { return pod == nil })
	return p
}

// metadata shows that a value as large as allowed comes back, and that a patch
// means one pod.
func metadata(ctx context.Context, t *testing.T, p *Pods, pod *corev1.Pod) {
	t.Helper()
	value := strings.Repeat("\xff", 90<<10)
	name, text := names.Encode("key", value)
	if _, err := p.Annotate(ctx, pod, map[string]*string{name: &text}); err != nil {
		t.Fatal(err)
	}
	seen := await(ctx, t, p, pod.Name, func(pod *corev1.Pod) bool { return pod.Annotations[name] != "" })
	if got, err := names.Decode(seen.Annotations); err != nil || got["key"] != value {
		t.Errorf("%d bytes, %v", len(got["key"]), err)
	}
	if _, err := p.Annotate(ctx, pod, map[string]*string{name: nil}); err != nil {
		t.Error(err)
	}
	await(ctx, t, p, pod.Name, func(pod *corev1.Pod) bool { return pod.Annotations[name] == "" })
	earlier := pod.DeepCopy()
	earlier.UID = "00000000-0000-0000-0000-000000000000"
	if _, err := p.Annotate(ctx, earlier, map[string]*string{name: &text}); !errors.Is(err, runtime.ErrSessionNotFound) {
		t.Errorf("annotate an earlier pod: %v", err)
	}
}

// losesTheAPIServer: at first the last answer holds, then nobody can tell, and
// then the same pod is there.
func losesTheAPIServer(ctx context.Context, t *testing.T, n *k8snode.Node, p *Pods, pod *corev1.Pod) {
	t.Helper()
	n.Kill(k8snode.APIServer)
	if got, err := p.Get(pod.Name); err != nil || got == nil || got.UID != pod.UID {
		t.Errorf("at once: %v, %v", got, err)
	}
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for limit := time.After(time.Minute); ; {
		got, err := p.Get(pod.Name)
		if errors.Is(err, runtime.ErrBackendUnreachable) {
			break
		}
		if err != nil || got == nil {
			t.Fatalf("without an API server: %v, %v", got, err)
		}
		select {
		case <-ticks.C:
		case <-limit:
			t.Fatal("it still tells")
		}
	}
	if err := n.Run(k8snode.APIServer); err != nil {
		t.Fatal(err)
	}
	if err := n.AwaitAPI(ctx); err != nil {
		t.Fatal(err)
	}
	if got := await(ctx, t, p, pod.Name, running); got.UID != pod.UID {
		t.Error("another pod is there")
	}
}

// losesTheNode: the pod's kubelet stops and comes back.
func losesTheNode(ctx context.Context, t *testing.T, n *k8snode.Node, p *Pods, pod *corev1.Pod) {
	t.Helper()
	n.Kill(k8snode.Kubelet)
	lost := await(ctx, t, p, pod.Name, podstate.Lost)
	if !podstate.Running(lost) {
		t.Errorf("a lost pod has ended: %+v", podstate.Exit(lost))
	}
	if err := n.Run(k8snode.Kubelet); err != nil {
		t.Fatal(err)
	}
	back := await(ctx, t, p, pod.Name, func(pod *corev1.Pod) bool { return !podstate.Lost(pod) })
	if back.UID != pod.UID || !podstate.Running(back) {
		t.Errorf("after it: %+v", back.Status)
	}
}

func running(pod *corev1.Pod) bool { return pod != nil && pod.Status.Phase == corev1.PodRunning }

func ended(pod *corev1.Pod) bool { return pod != nil && !podstate.Running(pod) }

// sessionPod returns the pod of a session that runs argv.
func sessionPod(t *testing.T, session string, change func(*settings.Settings), argv ...string) *corev1.Pod {
	t.Helper()
	s := settings.Settings{Namespace: namespace, Image: image}.Resolve(func(string) string { return "" })
	s.Requests["cpu"] = "10m"
	s.Requests["memory"] = "16Mi"
	if change != nil {
		change(&s)
	}
	if problems := s.Check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	pod, err := podspec.Build(podspec.Spec{
		Session:  names.Session{City: "c1", Name: session, Incarnation: "i1"},
		Settings: s,
		GCImage:  image,
		Args:     append([]string{"pod-run"}, argv...),
	})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func create(ctx context.Context, t *testing.T, p *Pods, session string, change func(*settings.Settings), argv ...string) *corev1.Pod {
	t.Helper()
	created, err := p.Create(ctx, sessionPod(t, session, change, argv...))
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func await(ctx context.Context, t *testing.T, p *Pods, name string, done func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	pod, err := p.Await(ctx, name, done)
	if err != nil {
		last, _ := p.Get(name) // only for the message
		t.Fatalf("%v; the pod: %+v", err, last)
	}
	return pod
}
