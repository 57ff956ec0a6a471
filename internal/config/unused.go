package config

import (
	"fmt"

	"gascity.dev/gc/internal/toml"
)

// Unused returns settings in the file that have no effect, in file order. None
// of them prevents a city from starting.
func (c *City) Unused() []Problem {
	out := toml.NewReport(c.File)
	c.unusedTables(out)
	used := c.usedProviders()
	for _, name := range sortedKeys(c.Providers) {
		p := c.Providers[name]
		where := "providers." + name
		if !used[name] {
			out.Add(p.At, "name it as the provider of an agent, or remove it", "%s: no agent uses it", where)
		}
		unusedHints(out, p.Where, where+".", &p.Hints)
		if p.Has("instructions_file") {
			out.Add(p.Place("instructions_file"), "remove it", "%s.instructions_file has no effect", where)
		}
		if p.Has("supports_acp") {
			out.Add(p.Place("supports_acp"), "acp_command says so, and how", "%s.supports_acp has no effect", where)
		}
	}
	for i := range c.Agents {
		c.unusedKeys(&c.Agents[i], out)
	}
	return out.List()
}

func (c *City) unusedTables(out *toml.Report) {
	s := &c.Session
	if c.Has("api") {
		out.Add(c.API.At, "remove it", "[api] has no effect: this gc does not serve a port")
	}
	c.unusedK8s(out)
	c.unusedServers(out)
	for _, key := range []string{"local", "remote", "remote_match"} {
		if s.Has(key) && s.Provider != HostHybrid {
			out.Add(s.Place(key), `it is for provider = "hybrid"`, "session.%s has no effect", key)
		}
	}
}

// usedProviders are the providers that an agent runs with, directly or as a
// base.
func (c *City) usedProviders() map[string]bool {
	used := map[string]bool{}
	for i := range c.Agents {
		chain, err := c.chain(c.providerName(&c.Agents[i]))
		if err != nil {
			continue // reported by validate
		}
		for _, link := range chain {
			used[link.name] = true
		}
	}
	return used
}

func (c *City) unusedKeys(a *Agent, out *toml.Report) {
	where := fmt.Sprintf("agent %q", a.QualifiedName())
	if c.providerName(a) == "shell" && a.Provider == "" && c.Workspace.Provider == "" {
		out.Add(a.At, `add provider = "claude" or start_command = "..."; use provider = "shell" if a shell is intended`,
			"%s has neither provider nor start_command: it is a shell", where)
	}
	unusedHints(out, a.Where, where+": ", &a.Hints)
	r, err := c.Resolve(a)
	if err == nil && r.PromptMode == PromptNone && a.PromptTemplate != "" {
		out.Add(a.Place("prompt_template"), `prompt_mode = "arg" or "flag" passes it on`, `%s: prompt_template has no effect: prompt_mode is "none"`, where)
	}
	if err == nil {
		c.unusedACP(a, &r, where, out)
	}
	if a.Pool != nil && a.Pool.Max == 0 {
		out.Add(a.Pool.At, "add max = 3", "%s: pool has no effect: it has no max", where)
	}
	if a.OverlayProvider != "" && a.OverlayDir == "" && len(c.Workspace.PackOverlays) == 0 {
		out.Add(a.Place("overlay_provider"), "add overlay_dir", "%s: overlay_provider has no effect without overlays", where)
	}
}

// unusedHints finds keys, among those shared by agents and providers, that make
// each other ineffective.
func unusedHints(out *toml.Report, w Where, where string, h *Hints) {
	if w.Has("prompt_flag") && w.Has("prompt_mode") && h.PromptMode != PromptFlag {
		out.Add(w.Place("prompt_flag"), `add prompt_mode = "flag"`, `%sprompt_flag has no effect: prompt_mode is %q`, where, h.PromptMode)
	}
}
