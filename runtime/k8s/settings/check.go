package settings

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Problem is one thing that a cluster would refuse, or that gc does.
type Problem struct {
	Key  string // of the table: "namespace", "requests.cpu"
	Text string // one line, without the key
}

func (p Problem) String() string { return p.Key + ": " + p.Text }

// Reserved are the directories of a pod that gc mounts itself.
var Reserved = []string{"/gc", "/home/agent", "/tmp", "/workspace"}

// Check returns every problem of resolved settings, in the order of their keys.
func (s Settings) Check() []Problem {
	var c checker
	c.label("namespace", s.Namespace)
	c.image("image", s.Image)
	if s.GCImage != "" {
		c.image("gc_image", s.GCImage)
	}
	c.oneOf("image_pull_policy", s.ImagePullPolicy, "", "Always", "IfNotPresent", "Never")
	c.optionalName("service_account", s.ServiceAccount)
	c.names("image_pull_secrets", s.PullSecrets)
	c.names("env_from_secret", s.EnvFromSecret)
	c.resources(s.Requests, s.Limits)
	c.optionalName("workspace.claim", s.Workspace.Claim)
	if s.Workspace.Size != "" {
		c.quantity("workspace.size", s.Workspace.Size)
		if s.Workspace.Claim != "" {
			c.add("workspace.size", "a claim has its own size")
		}
	}
	c.mounts(s.SecretMounts)
	c.labels("node_selector", s.NodeSelector, false)
	c.labels("labels", s.Labels, true)
	c.tolerations(s.Tolerations)
	c.oneOf("node_loss", s.NodeLoss, NodeLossReport, NodeLossReplace)
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Key, b.Key) })
	return c.problems
}

type checker struct{ problems []Problem }

func (c *checker) add(key, format string, args ...any) {
	c.problems = append(c.problems, Problem{key, fmt.Sprintf(format, args...)})
}

// compiled returns a pattern that is compiled on first use: every gc links this package.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	dnsLabel     = compiled(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)
	dnsName      = compiled(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
	labelWord    = compiled(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	resourceName = compiled(`^(cpu|memory|ephemeral-storage|[a-z0-9.-]+/[A-Za-z0-9._-]+)$`)
	// Host and port, path, tag and digest, without the limits of each registry.
	imageName = compiled(`^([A-Za-z0-9.-]+(:[0-9]+)?/)?[a-z0-9]+([._/-]+[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
)

func (c *checker) label(key, value string) {
	if len(value) > 63 || !dnsLabel().MatchString(value) {
		c.add(key, "%s is not a name: lower-case letters, digits and '-', at most 63", quote(value))
	}
}

func (c *checker) name(key, value string) {
	if len(value) > 253 || !dnsName().MatchString(value) {
		c.add(key, "%s is not a name: lower-case letters, digits, '-' and '.'", quote(value))
	}
}

func (c *checker) optionalName(key, value string) {
	if value != "" {
		c.name(key, value)
	}
}

func (c *checker) names(key string, values []string) {
	for _, value := range values {
		c.name(key, value)
	}
}

func (c *checker) image(key, value string) {
	switch {
	case value == "":
		c.add(key, "a pod needs an image: set it, or GC_K8S_IMAGE")
	case !imageName().MatchString(value):
		c.add(key, "%s is not the name of an image", quote(value))
	}
}

func (c *checker) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.add(key, "%s is none of %s", quote(value), strings.Join(slices.DeleteFunc(allowed, func(s string) bool { return s == "" }), ", "))
	}
}

func (c *checker) resources(requests, limits map[string]string) {
	for key, amounts := range map[string]map[string]string{"requests": requests, "limits": limits} {
		for name, amount := range amounts {
			if !resourceName().MatchString(name) {
				c.add(key+"."+name, "not a resource: cpu, memory, ephemeral-storage or DOMAIN/NAME")
				continue
			}
			c.quantity(key+"."+name, amount)
		}
	}
	for name, request := range requests {
		low, okLow := parseQuantity(request)
		high, okHigh := parseQuantity(limits[name])
		if okLow && okHigh && low.Cmp(high) > 0 {
			c.add("requests."+name, "%s is more than the limit %s", request, limits[name])
		}
	}
}

func (c *checker) quantity(key, value string) {
	if q, ok := parseQuantity(value); !ok || q.Sign() <= 0 {
		c.add(key, "%s is not an amount such as 250m, 2 or 512Mi", quote(value))
	}
}

func (c *checker) mounts(mounts map[string]string) {
	for at, secret := range mounts {
		key := "secret_mounts." + at
		c.name(key, secret)
		if !path.IsAbs(at) || path.Clean(at) != at || at == "/" || strings.ContainsAny(at, ":\x00") {
			c.add(key, "not an absolute path in its shortest form")
		}
		// Below the home directory is the place of many a credential.
		if slices.Contains(Reserved, at) || strings.HasPrefix(at, "/gc/") {
			c.add(key, "gc mounts a volume there itself")
		}
	}
}

func (c *checker) labels(key string, labels map[string]string, ours bool) {
	for name, value := range labels {
		prefix, word, prefixed := strings.Cut(name, "/")
		if !prefixed {
			prefix, word = "", name
		}
		if prefixed && (len(prefix) > 253 || !dnsName().MatchString(prefix)) || len(word) > 63 || !labelWord().MatchString(word) {
			c.add(key+"."+name, "not the name of a label")
		}
		if len(value) > 63 || value != "" && !labelWord().MatchString(value) {
			c.add(key+"."+name, "%s is not the value of a label", quote(value))
		}
		if ours && (prefix == "app.kubernetes.io" || prefix == "gascity.dev" || strings.HasSuffix(prefix, ".gascity.dev")) {
			c.add(key+"."+name, "gc sets the labels of %s itself", prefix)
		}
	}
}

func (c *checker) tolerations(all []Toleration) {
	for _, t := range all {
		switch {
		case t.Operator != "" && t.Operator != "Equal" && t.Operator != "Exists":
			c.add("tolerations", "operator %s is neither Equal nor Exists", quote(t.Operator))
		case t.Operator == "Exists" && t.Value != "":
			c.add("tolerations", "operator Exists takes no value, not %s", quote(t.Value))
		case t.Operator != "Exists" && t.Key == "":
			c.add("tolerations", "a toleration without a key needs operator Exists")
		}
		c.oneOf("tolerations", t.Effect, "", "NoSchedule", "PreferNoSchedule", "NoExecute")
	}
}

// quote shows a value of any length and content on one line.
func quote(s string) string {
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:60], "") + "…"
	}
	return fmt.Sprintf("%q", s)
}
