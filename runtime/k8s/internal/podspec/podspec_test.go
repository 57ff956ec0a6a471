//go:build k8s

package podspec

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/settings"
)

func spec() Spec {
	return Spec{
		Session:  names.Session{City: "c1", Name: "coder", Incarnation: "i1", Agent: "coder"},
		Settings: settings.Settings{Image: "node:22", Labels: map[string]string{"team": "red"}}.Resolve(func(string) string { return "" }),
		GCImage:  "gc:1",
		Args:     []string{"pod-run", "--", "claude"},
		Env:      map[string]string{"B": "$(HOME) $x", "A": "1", "PATH": "/here", "HOME": "/root", "TMPDIR": "/here", "EMPTY": ""},
	}
}

func build(t *testing.T, s Spec) *corev1.Pod {
	t.Helper()
	pod, err := Build(s)
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

func TestBuild(t *testing.T) {
	pod := build(t, spec())
	if pod.Labels["team"] != "red" || pod.Labels[names.LabelIncarnation] != "i1" || pod.Annotations[names.AnnotationSession] != "coder" {
		t.Errorf("labels %q, annotations %q", pod.Labels, pod.Annotations)
	}
	if got := pod.Spec.InitContainers[0].Image; got != "gc:1" {
		t.Errorf("gc comes from %q", got)
	}
	c := pod.Spec.Containers[0]
	if got := strings.Join(c.Command, " "); got != "/gc/gc pod-run -- claude" || len(c.Args) > 0 {
		t.Errorf("command %q, arguments %q", got, c.Args)
	}
	if got := c.Resources.Limits.Memory().String(); got != "4Gi" {
		t.Errorf("memory limit %s", got)
	}
	if _, limited := c.Resources.Limits[corev1.ResourceCPU]; limited {
		t.Error("the processor is limited")
	}
	if c.ImagePullPolicy != "" {
		t.Errorf("pull policy %q, want the cluster's", c.ImagePullPolicy)
	}
}

func TestEnvironment(t *testing.T) {
	var got []string
	for _, v := range build(t, spec()).Spec.Containers[0].Env {
		got = append(got, v.Name+"="+v.Value)
	}
	want := "HOME=/home/agent TMPDIR=/tmp A=1 B=$$(HOME) $$x GC_POD_WORKDIR=/workspace"
	if strings.Join(got, " ") != want {
		t.Errorf("environment %q, want %q", got, want)
	}
}

func TestSecretsAreReferences(t *testing.T) {
	s := spec()
	s.Settings.EnvFromSecret = []string{"api"}
	s.Settings.SecretMounts = map[string]string{"/home/agent/.aws": "aws"}
	pod := build(t, s)
	c := pod.Spec.Containers[0]
	if len(c.EnvFrom) != 1 || c.EnvFrom[0].SecretRef.Name != "api" {
		t.Errorf("variables from %+v", c.EnvFrom)
	}
	volume, mount := pod.Spec.Volumes[len(pod.Spec.Volumes)-1], c.VolumeMounts[len(c.VolumeMounts)-1]
	if volume.Secret.SecretName != "aws" || mount.Name != volume.Name || mount.MountPath != "/home/agent/.aws" || !mount.ReadOnly {
		t.Errorf("%+v at %+v", volume, mount)
	}
}

func TestWorkspace(t *testing.T) {
	workspace := func(w settings.Workspace) corev1.Volume {
		s := spec()
		s.Settings.Workspace = w
		return build(t, s).Spec.Volumes[3]
	}
	if v := workspace(settings.Workspace{Size: "1Gi"}); v.EmptyDir.SizeLimit.String() != "1Gi" {
		t.Errorf("%+v", v)
	}
	if v := workspace(settings.Workspace{Claim: "disk"}); v.PersistentVolumeClaim.ClaimName != "disk" || v.EmptyDir != nil {
		t.Errorf("%+v", v)
	}
}

func TestRelativeWorkDir(t *testing.T) {
	s := spec()
	s.WorkDir = "src"
	if _, err := Build(s); err == nil {
		t.Error("a relative work directory is accepted")
	}
}

func TestOverlayAddsAndChanges(t *testing.T) {
	built := build(t, spec())
	pod, err := Overlay(built, []byte(`
metadata:
  annotations: {team: red}
spec:
  priorityClassName: low
  volumes: [{name: home, emptyDir: null, persistentVolumeClaim: {claimName: homes}}]
  containers:
  - name: agent
    env: [{name: EXTRA, value: "1"}]
    resources: {limits: {memory: 8Gi}}
  - name: side
    image: side:1
`))
	if err != nil {
		t.Fatal(err)
	}
	if pod.Spec.PriorityClassName != "low" || len(pod.Spec.Containers) != 2 || pod.Annotations["team"] != "red" {
		t.Errorf("%+v", pod)
	}
	for _, c := range pod.Spec.Containers {
		if c.Name == Container && c.Resources.Limits.Memory().String() != "8Gi" {
			t.Errorf("memory %s", c.Resources.Limits.Memory())
		}
	}
	if built.Spec.PriorityClassName != "" {
		t.Error("the built pod changed")
	}
}

func TestOverlayKeepsWhatGcNeeds(t *testing.T) {
	for _, tt := range []struct{ patch, want string }{
		{"spec: {restartPolicy: Always}", "spec.restartPolicy is set by gc"},
		{"metadata: {name: other}", "metadata.name is set by gc"},
		{"metadata: {namespace: other}", "metadata.namespace is set by gc"},
		{"metadata: {labels: {gascity.dev/city: other}}", "the label gascity.dev/city is set by gc"},
		{"metadata: {annotations: {gascity.dev/session-name: null}}", "the annotation gascity.dev/session-name is set by gc"},
		{"spec: {containers: [{name: agent, command: [sh]}]}", "spec.containers[agent].command is set by gc"},
		{"spec: {containers: [{name: agent, args: [x]}]}", "spec.containers[agent].args is set by gc"},
		{"spec: {containers: [{name: agent, workingDir: /}]}", "spec.containers[agent].workingDir is set by gc"},
		{"spec: {containers: [{name: agent, $patch: delete}, {name: x, image: x}]}", "the container agent is needed"},
		{"spec: {initContainers: [{name: install-gc, command: [sh]}]}", "spec.initContainers[install-gc].command is set by gc"},
		{"spec: {volumes: [{name: tmp, $patch: delete}]}", "the volume tmp is needed"},
		{"spec: {containers: [{name: agent, volumeMounts: [{mountPath: /gc, $patch: delete}]}]}", "spec.containers[agent] needs its mount at /gc"},
		{"spec: {containers: [{name: agent, env: [{name: HOME, value: /}]}]}", "the variable HOME is set by gc"},
		{"spec: {resartPolicy: Never}", `unknown field "resartPolicy"`},
		{"spec: [1]", "pod_overlay:"},
		{"a: b: c", "pod_overlay:"},
		{"spec: {containers: [{image: x}]}", "pod_overlay:"},
	} {
		_, err := Overlay(build(t, spec()), []byte(tt.patch))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.patch, err, tt.want)
		}
	}
}

// FuzzOverlay: whatever a patch says, the pod that comes out keeps our command.
func FuzzOverlay(f *testing.F) {
	for _, seed := range []string{"{}", "spec: {priorityClassName: low}", "spec: {containers: null}", "spec: null", "metadata: null", "$patch: replace"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, patch []byte) {
		built, err := Build(spec())
		if err != nil {
			t.Fatal(err)
		}
		pod, err := Overlay(built, patch)
		if err != nil {
			return
		}
		i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == Container })
		if pod.Name != built.Name || i < 0 || pod.Spec.Containers[i].Command[0] != Program {
			t.Fatalf("%+v", pod)
		}
	})
}
