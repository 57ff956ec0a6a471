package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/internal/toml"
	"gascity.dev/gc/runtime/k8s/settings"
)

// HostPods is the session provider of agents in pods of a Kubernetes cluster.
const HostPods = "k8s"

// IsPods reports whether a session provider hosts in pods: k8s, or acp+k8s for agents that
// speak the Agent Client Protocol there.
func IsPods(provider string) bool { return HostURL(provider) == HostPods }

// K8s is [session.k8s], the pods of a city, or [agents.k8s], which overrides it: maps
// by key, lists as a whole.
type K8s struct {
	Kubeconfig      string            `toml:"kubeconfig"`
	Context         string            `toml:"context"`
	Namespace       string            `toml:"namespace"`
	Image           string            `toml:"image"`
	GCImage         string            `toml:"gc_image"`
	ImagePullPolicy string            `toml:"image_pull_policy"`
	PullSecrets     []string          `toml:"image_pull_secrets"`
	ServiceAccount  string            `toml:"service_account"`
	Requests        map[string]string `toml:"requests"`
	Limits          map[string]string `toml:"limits"`
	Workspace       K8sWorkspace      `toml:"workspace"`
	SecretMounts    map[string]string `toml:"secret_mounts"` // path in the pod: secret
	EnvFromSecret   []string          `toml:"env_from_secret"`
	NodeSelector    map[string]string `toml:"node_selector"`
	Labels          map[string]string `toml:"labels"`
	Tolerations     []K8sToleration   `toml:"tolerations"`
	PodOverlay      string            `toml:"pod_overlay"` // a file; relative to the city
	NodeLoss        string            `toml:"node_loss"`
	Where
}

// K8sWorkspace is the volume of the work directory: an emptyDir, or a claim.
type K8sWorkspace struct {
	Claim string `toml:"claim"`
	Size  string `toml:"size"` // of the emptyDir
	Where
}

// K8sToleration is an entry of tolerations.
type K8sToleration struct {
	Key      string `toml:"key"`
	Operator string `toml:"operator"`
	Value    string `toml:"value"`
	Effect   string `toml:"effect"`
	Where
}

// cluster are the keys that all pods of a city share.
var cluster = []string{"kubeconfig", "context", "namespace"}

// settings returns what the table says, with absolute paths.
func (k *K8s) settings(c *City) settings.Settings {
	s := settings.Settings{
		Kubeconfig: c.path(k.Kubeconfig), Context: k.Context, Namespace: k.Namespace,
		Image: k.Image, GCImage: k.GCImage, ImagePullPolicy: k.ImagePullPolicy, PullSecrets: k.PullSecrets,
		ServiceAccount: k.ServiceAccount, Requests: k.Requests, Limits: k.Limits,
		Workspace:    settings.Workspace{Claim: k.Workspace.Claim, Size: k.Workspace.Size},
		SecretMounts: k.SecretMounts, EnvFromSecret: k.EnvFromSecret, NodeSelector: k.NodeSelector, Labels: k.Labels,
		PodOverlay: c.path(k.PodOverlay), NodeLoss: k.NodeLoss,
	}
	for _, t := range k.Tolerations {
		s.Tolerations = append(s.Tolerations, settings.Toleration{Key: t.Key, Operator: t.Operator, Value: t.Value, Effect: t.Effect})
	}
	return s
}

// place is the position of a key as settings names it: "requests.cpu".
func (k *K8s) place(key string) Pos {
	table, rest, _ := strings.Cut(key, ".")
	if table == "workspace" && k.Has(table) {
		return k.Workspace.Place(rest)
	}
	return k.Place(table)
}

// applyK8s merges how the agent's pod is made: [session.k8s], then [agents.k8s]. The
// environment overrides it: see Resolved.Pod.
func (c *City) applyK8s(r *Resolved, a *Agent) {
	r.Pods = c.Session.K8s.settings(c)
	layer{r: r, source: "session.k8s", file: c.File}.k8s(&c.Session.K8s, r.Pods)
	if a.K8s != nil {
		own := a.K8s.settings(c)
		r.Pods = r.Pods.Override(own)
		layer{r: r, source: "agent", file: c.File}.k8s(a.K8s, own)
	}
}

func (l layer) k8s(k *K8s, s settings.Settings) {
	for _, v := range podValues(s) {
		l.r.Origins["k8s."+v.Key] = Origin{Source: l.source, File: filepath.Base(l.file), Line: k.place(v.Key).Line}
	}
}

// Pod returns how the agent's pod is made, with the variables GC_K8S_* of environ and
// with defaults.
func (r *Resolved) Pod(environ []string) settings.Settings {
	vars := lookup(environ)
	return r.Pods.Resolve(func(name string) string { return vars[name] })
}

// Pod returns how the pods of an agent are made, by the qualified name of its [[agents]]
// entry; those of the city for another name.
func (c *City) Pod(template string, environ []string) (settings.Settings, error) {
	for i := range c.Agents {
		if a := &c.Agents[i]; a.QualifiedName() == template {
			r, err := c.Resolve(a)
			return r.Pod(environ), err
		}
	}
	city := Resolved{Pods: c.Session.K8s.settings(c)}
	return city.Pod(environ), nil
}

// validateK8s checks [session.k8s]. The image may come from the environment.
func (c *City) validateK8s(out *toml.Report) {
	k := &c.Session.K8s
	for _, p := range podProblems(k.settings(c)) {
		out.Add(k.place(p.Key), "", "session.k8s.%s", p)
	}
}

// checkK8s checks [agents.k8s]: what is wrong only with its own keys.
func (c *City) checkK8s(a *Agent, where string, out *toml.Report) {
	if a.K8s == nil {
		return
	}
	for _, key := range cluster {
		if a.K8s.Has(key) {
			out.Add(a.K8s.Place(key), "write it in [session.k8s]", "%s: k8s.%s: all pods of a city have the same", where, key)
		}
	}
	city := c.Session.K8s.settings(c)
	known := map[settings.Problem]bool{}
	for _, p := range podProblems(city) {
		known[p] = true
	}
	for _, p := range podProblems(city.Override(a.K8s.settings(c))) {
		if !known[p] {
			out.Add(a.K8s.place(p.Key), "", "%s: k8s.%s", where, p)
		}
	}
}

// podProblems are the problems of settings whatever the environment says.
func podProblems(s settings.Settings) []settings.Problem {
	s = s.Resolve(func(string) string { return "" })
	if s.Image == "" {
		s.Image = "image"
	}
	return s.Check()
}

// usesPods reports whether agents may be hosted in pods, as far as the file says.
func (c *City) usesPods() bool {
	return c.mayBePod(c.Session.Provider) || slices.ContainsFunc(c.Agents, func(a Agent) bool { return c.mayBePod(a.Session) })
}

// mayBePod reports whether a session provider hosts in pods, or routes to one that does.
func (c *City) mayBePod(provider string) bool {
	s := &c.Session
	return IsPods(provider) || provider == "hybrid" && (s.Remote == "" || IsPods(s.Remote) || IsPods(s.Local))
}

// podValues lists what settings set, in the order of the file's keys; entries of tables
// are "requests.cpu".
func podValues(s settings.Settings) []ShownValue {
	var all []ShownValue
	text := func(key, value string) {
		if value != "" {
			all = append(all, ShownValue{Key: key, Value: value})
		}
	}
	list := func(key string, values []string) {
		if len(values) > 0 {
			all = append(all, ShownValue{Key: key, Value: values})
		}
	}
	table := func(key string, values map[string]string) {
		for _, k := range sortedKeys(values) {
			text(key+"."+k, values[k])
		}
	}
	text("kubeconfig", s.Kubeconfig)
	text("context", s.Context)
	text("namespace", s.Namespace)
	text("image", s.Image)
	text("gc_image", s.GCImage)
	text("image_pull_policy", s.ImagePullPolicy)
	list("image_pull_secrets", s.PullSecrets)
	text("service_account", s.ServiceAccount)
	table("requests", s.Requests)
	table("limits", s.Limits)
	text("workspace.claim", s.Workspace.Claim)
	text("workspace.size", s.Workspace.Size)
	table("secret_mounts", s.SecretMounts)
	list("env_from_secret", s.EnvFromSecret)
	table("node_selector", s.NodeSelector)
	table("labels", s.Labels)
	var tolerations []string
	for _, t := range s.Tolerations {
		tolerations = append(tolerations, strings.TrimSpace(fmt.Sprintf("%s %s %s:%s", t.Key, t.Operator, t.Value, t.Effect)))
	}
	list("tolerations", tolerations)
	text("pod_overlay", s.PodOverlay)
	text("node_loss", s.NodeLoss)
	return all
}

// shownPods lists how the agent's pod is made; nothing if it is not hosted in one.
func (r *Resolved) shownPods(c *City, environ []string) []ShownValue {
	vars := lookup(environ)
	if !c.mayBePod(r.Session) && !IsPods(vars["GC_SESSION"]) {
		return nil
	}
	return shownPods("k8s.", r, environ)
}

// shownPods lists the settings of an agent, or of the city as one, with their origins.
func shownPods(prefix string, r *Resolved, environ []string) []ShownValue {
	vars := lookup(environ)
	resolved := r.Pod(environ)
	all := podValues(resolved)
	for i := range all {
		v := &all[i]
		o, set := r.Origins["k8s."+v.Key]
		name := settings.Variable(v.Key)
		switch {
		case vars[name] != "" && !(v.Key == "context" && set):
			o = Origin{Source: name}
		case !set:
			o = Origin{Source: OriginDefault}
		}
		v.Key, v.Origin = prefix+v.Key, o.String()
	}
	return all
}

// shownK8s lists [session.k8s] with the environment and the defaults, if agents may be
// hosted in pods.
func (c *City) shownK8s(environ []string) []ShownValue {
	k := &c.Session.K8s
	if !c.Session.Has("k8s") && !c.usesPods() && !IsPods(lookup(environ)["GC_SESSION"]) {
		return nil
	}
	city := Resolved{Origins: map[string]Origin{}, Pods: k.settings(c)}
	layer{r: &city, source: "session.k8s", file: c.File}.k8s(k, city.Pods)
	return shownPods("session.k8s.", &city, environ)
}

// PodIdentity is what of an agent's pod is fixed when it starts: a change needs another
// pod. Where pods run and what a lost node means is not part of it.
func PodIdentity(s settings.Settings) []string {
	var all []string
	s.NodeLoss, s.Kubeconfig, s.Context, s.Namespace = "", "", "", ""
	for _, v := range podValues(s) {
		all = append(all, "k8s."+v.Key+"="+plain(v.Value))
	}
	return all
}

// unusedK8s finds tables about pods where no agent can be hosted in one.
func (c *City) unusedK8s(out *toml.Report) {
	if c.Session.Has("k8s") && !c.usesPods() {
		out.Add(c.Session.K8s.At, `write provider = "k8s" in [session], or session = "k8s" for an agent`, "[session.k8s] has no effect: no agent's session is k8s")
	}
	for i := range c.Agents {
		a := &c.Agents[i]
		r, err := c.Resolve(a)
		if err == nil && a.K8s != nil && !c.mayBePod(r.Session) {
			out.Add(a.K8s.At, `add session = "k8s"`, "agent %q: k8s has no effect: its session is not k8s", a.QualifiedName())
		}
	}
}
