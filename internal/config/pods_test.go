package config

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const withPods = `[session]
provider = "k8s"
[session.k8s]
namespace = "agents"
image = "node:22"
context = "prod"
kubeconfig = "kube.yaml"
image_pull_secrets = ["registry"]
env_from_secret = ["keys"]
pod_overlay = "pod.yaml"
[session.k8s.requests]
cpu = "1"
[session.k8s.secret_mounts]
"/home/agent/.aws" = "aws"
[[session.k8s.tolerations]]
key = "agents"
operator = "Exists"
effect = "NoSchedule"

[[agents]]
name = "coder"
start_command = "cat"
[agents.k8s]
image = "golang:1.27"
node_loss = "replace"
[agents.k8s.limits]
memory = "8Gi"
[agents.k8s.workspace]
claim = "code"

[[agents]]
name = "here"
session = "native"
start_command = "cat"
`

// Each value of a pod knows whether the agent, the city, a variable or nobody set it.
func TestPodsOriginOfEveryValue(t *testing.T) {
	c := mustParse(t, withPods)
	s, err := Show(c, []string{"GC_K8S_NAMESPACE=other", "GC_K8S_MEM_LIMIT=2Gi", "GC_K8S_CONTEXT=ignored", "GC_K8S_IMAGE="}, "coder", "here")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range slices.Concat(s.City, s.Agents[0].Values) {
		if strings.Contains(v.Key, "k8s") {
			got[v.Key] = plain(v.Value) + " # " + v.Origin
		}
	}
	for key, want := range map[string]string{
		"session.k8s.namespace":              "other # GC_K8S_NAMESPACE",
		"session.k8s.image":                  "node:22 # session.k8s (city.toml:7)",
		"session.k8s.context":                "prod # session.k8s (city.toml:8)",
		"session.k8s.limits.memory":          "2Gi # GC_K8S_MEM_LIMIT",
		"session.k8s.requests.cpu":           "1 # session.k8s (city.toml:13)",
		"session.k8s.requests.memory":        "512Mi # default",
		"session.k8s.node_loss":              "report # default",
		"session.k8s.tolerations":            `["agents Exists :NoSchedule"] # session.k8s (city.toml:17)`,
		"session.k8s.kubeconfig":             c.Dir + "/kube.yaml # session.k8s (city.toml:9)",
		"session.k8s.pod_overlay":            c.Dir + "/pod.yaml # session.k8s (city.toml:12)",
		"k8s.image":                          "golang:1.27 # agent (city.toml:26)",
		"k8s.node_loss":                      "replace # agent (city.toml:27)",
		"k8s.limits.memory":                  "2Gi # GC_K8S_MEM_LIMIT",
		"k8s.workspace.claim":                "code # agent (city.toml:31)",
		"k8s.requests.cpu":                   "1 # session.k8s (city.toml:13)",
		"k8s.image_pull_secrets":             `["registry"] # session.k8s (city.toml:10)`,
		"k8s.env_from_secret":                `["keys"] # session.k8s (city.toml:11)`,
		"k8s.namespace":                      "other # GC_K8S_NAMESPACE",
		"k8s.secret_mounts./home/agent/.aws": "aws # session.k8s (city.toml:15)",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	for _, v := range s.Agents[1].Values {
		if strings.HasPrefix(v.Key, "k8s.") {
			t.Errorf("an agent without a pod shows %s", v.Key)
		}
	}
}

func TestPodOfAnAgent(t *testing.T) {
	c := mustParse(t, withPods)
	pod, err := c.Pod("coder", []string{"GC_K8S_IMAGE=mine"})
	if err != nil || pod.Image != "mine" || pod.Workspace.Claim != "code" || pod.Limits["memory"] != "8Gi" || pod.Namespace != "agents" {
		t.Errorf("%+v, %v", pod, err)
	}
	if pod, err = c.Pod("no-agent", nil); err != nil || pod.Image != "node:22" || pod.Workspace.Claim != "" {
		t.Errorf("the city's: %+v, %v", pod, err)
	}
}

func TestPodProblems(t *testing.T) {
	for _, tt := range []struct {
		name, text, want string
	}{
		{"image from the environment", "[session]\nprovider = \"k8s\"\n", ""},
		{"unknown key", "[session.k8s]\nimages = \"x\"\n", `unknown key "images" in session.k8s`},
		{"amount", "[session.k8s.requests]\nmemory = \"lots\"\n", `3:14: session.k8s.requests.memory: "lots" is not an amount`},
		{"workspace", "[session.k8s.workspace]\nclaim = \"c\"\nsize = \"1Gi\"\n", `5:1: session.k8s.workspace.size: a claim has its own size`},
		{"limit below the default request", "[session.k8s.limits]\nmemory = \"256Mi\"\ncpu = \"100m\"\n", ""},
		{"gc_image", "[session.k8s]\ngc_image = \"a b\"\n", `4:1: session.k8s.gc_image: "a b" is not the name of an image`},
		{"agent", "[[agents]]\nname = \"a\"\nsession = \"k8s\"\n[agents.k8s]\nnode_loss = \"restart\"\n", `7:1: agent "a": k8s.node_loss: "restart" is none of report, replace`},
		{"agent against the city", "[session.k8s.requests]\nmemory = \"2Gi\"\n[[agents]]\nname = \"a\"\n[agents.k8s.limits]\nmemory = \"1Gi\"\n", `agent "a": k8s.requests.memory: 2Gi is more than the limit 1Gi`},
		{"cluster of an agent", "[[agents]]\nname = \"a\"\n[agents.k8s]\nnamespace = \"n\"\n", `6:1: agent "a": k8s.namespace: all pods of a city have the same`},
		{"toleration", "[[session.k8s.tolerations]]\neffect = \"NoSchedule\"\n", "session.k8s.tolerations: a toleration without a key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.text)
			if tt.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var problems *Problems
			if !errors.As(err, &problems) || len(problems.List) != 1 || !strings.Contains(problems.List[0].String(), tt.want) {
				t.Errorf("%v, want one problem with %q", err, tt.want)
			}
		})
	}
}

func TestPodTablesWithoutEffect(t *testing.T) {
	c := mustParse(t, "[session.k8s]\nimage = \"x\"\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n[agents.k8s]\nimage = \"y\"\n")
	var got []string
	for _, p := range c.Unused() {
		got = append(got, p.Msg)
	}
	want := []string{`[session.k8s] has no effect: no agent's session is k8s`, `agent "a": k8s has no effect: its session is not k8s`}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if u := mustParse(t, withPods).Unused(); len(u) > 0 {
		t.Errorf("%v", u)
	}
}
