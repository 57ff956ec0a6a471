package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return m[name] }
}

func TestDefaults(t *testing.T) {
	got := Settings{Image: "node:22"}.Resolve(env())
	want := Settings{
		Namespace: "default", Image: "node:22", NodeLoss: NodeLossReport,
		Requests: map[string]string{"cpu": "250m", "memory": "512Mi"},
		Limits:   map[string]string{"memory": "4Gi"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if problems := got.Check(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestVariablesOverrideTheFile(t *testing.T) {
	file := Settings{
		Namespace: "a", Image: "a", Context: "a", ServiceAccount: "a",
		Requests: map[string]string{"cpu": "1", "example.com/gpu": "1"}, Limits: map[string]string{"cpu": "2"},
	}
	got := file.Resolve(env(
		"GC_K8S_NAMESPACE", "b", "GC_K8S_IMAGE", "b", "GC_K8S_CONTEXT", "b", "GC_K8S_SERVICE_ACCOUNT", "b",
		"GC_K8S_CPU_REQUEST", "100m", "GC_K8S_MEM_REQUEST", "1Gi", "GC_K8S_CPU_LIMIT", "200m", "GC_K8S_MEM_LIMIT", "2Gi"))
	want := Settings{
		Namespace: "b", Image: "b", Context: "a", ServiceAccount: "b", NodeLoss: NodeLossReport,
		Requests: map[string]string{"cpu": "100m", "memory": "1Gi", "example.com/gpu": "1"},
		Limits:   map[string]string{"cpu": "200m", "memory": "2Gi"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := (Settings{}).Resolve(env("GC_K8S_CONTEXT", "b")); got.Context != "b" {
		t.Errorf("context %q, want b", got.Context)
	}
}

func TestAnAgentOverridesItsCity(t *testing.T) {
	city := Settings{Image: "city", Namespace: "ns", Limits: map[string]string{"memory": "1Gi", "cpu": "1"}, PullSecrets: []string{"s"}}
	got := city.Override(Settings{Image: "agent", Limits: map[string]string{"memory": "8Gi"}})
	if got.Image != "agent" || got.Namespace != "ns" || got.Limits["memory"] != "8Gi" || got.Limits["cpu"] != "1" || len(got.PullSecrets) != 1 {
		t.Errorf("%+v", got)
	}
	if city.Limits["memory"] != "1Gi" {
		t.Error("the city's settings changed")
	}
}

func TestProblems(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(*Settings)
		want string // "key: part of the text"; "" for none
	}{
		{"nothing", func(*Settings) {}, ""},
		{"namespace", func(s *Settings) { s.Namespace = "My_NS" }, `namespace: "My_NS"`},
		{"long namespace", func(s *Settings) { s.Namespace = strings.Repeat("n", 64) }, "namespace:"},
		{"no image", func(s *Settings) { s.Image = "" }, "image: a pod needs an image"},
		{"image with a blank", func(s *Settings) { s.Image = "a b" }, `image: "a b"`},
		{"image in full", func(s *Settings) {
			s.Image = "reg.example:5000/team/agent_x:v1.2@sha256:" + strings.Repeat("a", 64)
		}, ""},
		{"pull policy", func(s *Settings) { s.ImagePullPolicy = "never" }, "image_pull_policy: \"never\" is none of Always, IfNotPresent, Never"},
		{"pull secret", func(s *Settings) { s.PullSecrets = []string{"ok", "No"} }, `image_pull_secrets: "No"`},
		{"service account", func(s *Settings) { s.ServiceAccount = "a/b" }, "service_account:"},
		{"amount", func(s *Settings) { s.Requests["cpu"] = "fast" }, `requests.cpu: "fast"`},
		{"zero", func(s *Settings) { s.Limits["cpu"] = "0"; delete(s.Requests, "cpu") }, "limits.cpu:"},
		{"negative", func(s *Settings) { s.Limits["memory"] = "-1" }, "limits.memory:"},
		{"unknown resource", func(s *Settings) { s.Limits["ram"] = "1" }, "limits.ram: not a resource"},
		{"extended resource", func(s *Settings) { s.Limits["nvidia.com/gpu"] = "1" }, ""},
		{"request above limit", func(s *Settings) { s.Requests["memory"] = "5G" }, "requests.memory: 5G is more than the limit 4Gi"},
		{"request below limit in another unit", func(s *Settings) { s.Requests["memory"] = "4G" }, ""},
		{"workspace", func(s *Settings) { s.Workspace = Workspace{Claim: "c", Size: "1Gi"} }, "workspace.size: a claim"},
		{"relative mount", func(s *Settings) { s.SecretMounts = map[string]string{"x": "s"} }, "secret_mounts.x: not an absolute"},
		{"mount over ours", func(s *Settings) { s.SecretMounts = map[string]string{"/gc/bin": "s"} }, "secret_mounts./gc/bin: gc mounts"},
		{"mount in home", func(s *Settings) { s.SecretMounts = map[string]string{"/home/agent/.aws": "s"} }, ""},
		{"dots", func(s *Settings) { s.SecretMounts = map[string]string{"/a/../b": "s"} }, "not an absolute"},
		{"our label", func(s *Settings) { s.Labels = map[string]string{"gascity.dev/city": "x"} }, "gc sets the labels of gascity.dev"},
		{"label value", func(s *Settings) { s.Labels = map[string]string{"team": "a b"} }, `labels.team: "a b"`},
		{"label name", func(s *Settings) { s.Labels = map[string]string{"a b": ""} }, "labels.a b: not the name"},
		{"node selector", func(s *Settings) { s.NodeSelector = map[string]string{"kubernetes.io/arch": "arm64"} }, ""},
		{"toleration", func(s *Settings) { s.Tolerations = []Toleration{{Key: "k", Operator: "Has"}} }, `operator "Has"`},
		{"toleration of everything", func(s *Settings) { s.Tolerations = []Toleration{{Operator: "Exists"}} }, ""},
		{"toleration without a key", func(s *Settings) { s.Tolerations = []Toleration{{Effect: "NoSchedule"}} }, "needs operator Exists"},
		{"effect", func(s *Settings) { s.Tolerations = []Toleration{{Key: "k", Effect: "Never"}} }, `"Never" is none of`},
		{"node loss", func(s *Settings) { s.NodeLoss = "restart" }, "node_loss: \"restart\" is none of report, replace"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Settings{Image: "busybox"}.Resolve(env())
			tt.set(&s)
			problems := s.Check()
			if tt.want == "" {
				if len(problems) > 0 {
					t.Error(problems)
				}
				return
			}
			if len(problems) != 1 || !strings.Contains(problems[0].String(), tt.want) {
				t.Errorf("%q, want one with %q", problems, tt.want)
			}
		})
	}
}

func TestQuantities(t *testing.T) {
	for _, pair := range [][2]string{{"1000m", "1"}, {"1024Mi", "1Gi"}, {"0.5", "500m"}, {"1.", "1"}, {".5", "0.5"}, {"1000k", "1M"}} {
		a, okA := parseQuantity(pair[0])
		b, okB := parseQuantity(pair[1])
		if !okA || !okB || a.Cmp(b) != 0 {
			t.Errorf("%s and %s differ", pair[0], pair[1])
		}
	}
	for _, bad := range []string{"", ".", "1 Gi", "1gi", "Gi", "1/2", "0x1", strings.Repeat("9", 100)} {
		if q, ok := parseQuantity(bad); ok {
			t.Errorf("%q is %v", bad, q)
		}
	}
}
