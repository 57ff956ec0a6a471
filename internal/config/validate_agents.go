package config

import (
	"path/filepath"
	"slices"
	"strings"

	"gascity.dev/gc/internal/nearest"
	"gascity.dev/gc/internal/toml"
)

// validName reports whether s is valid as the name of an agent, rig or dir.
func validName(s string) bool {
	if s == "" || len(s) > 200 || badText(s) || s[0] == '-' {
		return false
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}

// validateNames checks identities and returns the position of each.
func (c *City) validateNames(out *toml.Report) map[string]Pos {
	first := map[string]Pos{}
	for i := range c.Agents {
		a := &c.Agents[i]
		switch {
		case a.Name == "":
			if !out.Has(a.Place("name")) { // otherwise it is not a string
				out.Add(a.Place("name"), `add name = "worker"`, "[[agents]] has no name")
			}
			continue
		case !validName(a.Name):
			out.Add(a.Place("name"), "use letters, digits, '.', '_' and '-'", "agents.name: %q is not a valid agent name", clip(a.Name))
			continue
		case a.Dir != "" && !validName(a.Dir):
			out.Add(a.Place("dir"), "dir names a rig, or a directory below the city; work_dir may be any directory", "agents.dir: %q cannot be part of a name", clip(a.Dir))
			continue
		}
		for _, q := range append([]string{a.QualifiedName()}, fixedMembers(a)...) {
			if at, dup := first[q]; dup && at != a.At {
				out.Add(a.Place("name"), "", "agent %q is defined twice, first on line %d", q, at.Line)
				continue
			}
			first[q] = a.At
		}
	}
	return first
}

// fixedMembers returns the pool members whose names depend only on the file.
func fixedMembers(a *Agent) []string {
	if a.Pool == nil {
		return nil
	}
	var names []string
	for _, n := range a.Pool.NamePool {
		names = append(names, qualify(a.Dir, n))
	}
	return names
}

func qualify(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func (c *City) validateAgent(a *Agent, out *toml.Report) {
	where := "agent " + quote(clip(a.QualifiedName()))
	c.checkProvider(a.Provider, a.Place("provider"), where+": provider", out)
	checkSide(out, a.Place("session"), where+": session", a.Session)
	oneOf(out, a.Place("lifecycle"), where+": lifecycle", a.Lifecycle, OneShot)
	oneOf(out, a.Place("wake_mode"), where+": wake_mode", a.WakeMode, WakeResume, WakeFresh)
	oneOf(out, a.Place("mail"), where+": mail", a.Mail, mailModes...)
	a.Care.validate(out, a.Where, where+": ")
	checkHints(out, &a.Hints, a.Where, where+": ")
	checkTemplates(out, a.Place("start_command"), where+": start_command", a.StartCommand)
	checkTemplates(out, a.Place("args"), where+": args", a.Args...)
	checkTemplates(out, a.Place("pre_start"), where+": pre_start", a.PreStart...)
	checkTemplates(out, a.Place("session_setup"), where+": session_setup", a.SessionSetup...)
	checkTemplates(out, a.Place("session_setup_script"), where+": session_setup_script", a.SessionSetupScript)
	checkTemplates(out, a.Place("session_live"), where+": session_live", a.SessionLive...)
	checkTemplates(out, a.Place("work_dir"), where+": work_dir", a.WorkDir)
	for _, f := range a.CopyFiles {
		if f.Src == "" {
			out.Add(f.At, `write {src = "FILE", dst = "DIRECTORY"}`, "%s: an entry of copy_files has no src", where)
		}
		if f.Dst != "" && !filepath.IsLocal(f.Dst) {
			out.Add(f.Place("dst"), "a path below the work dir", "%s: copy_files: dst %q is outside the work dir", where, clip(f.Dst))
		}
	}
	if a.Limits.PIDs < 0 {
		out.Add(a.Limits.Place("pids"), "0 means no limit", "%s: limits.pids is negative", where)
	}
	c.checkMCPNames(a, where, out)
	c.checkK8s(a, where, out)
	if a.Pool != nil {
		validatePool(a.Pool, a.Lifecycle, where, out)
	}
	oneOf(out, a.Place("permissions"), where+": permissions", a.Permissions, PermissionLevels()...)
	c.checkResolved(a, where, out)
}

func validatePool(p *Pool, lifecycle, where string, out *toml.Report) {
	switch {
	case p.Max < -1:
		out.Add(p.Place("max"), "0 means no pool, -1 unlimited", "%s: pool.max: %d is not valid", where, p.Max)
	case p.Min < 0:
		out.Add(p.Place("min"), "", "%s: pool.min: %d is negative", where, p.Min)
	case p.Max > 0 && p.Min > p.Max:
		out.Add(p.Place("min"), "", "%s: pool.min %d is more than pool.max %d", where, p.Min, p.Max)
	case p.Max > maxPool:
		out.Add(p.Place("max"), "", "%s: pool.max: at most %d members", where, maxPool)
	}
	if lifecycle == OneShot && p.Max != 0 {
		out.Add(p.Place("max"), "remove one of the two", "%s: a pool cannot be one_shot", where)
	}
	seen := map[string]bool{}
	for _, n := range p.NamePool {
		if !validName(n) || strings.Contains(n, "/") || seen[n] {
			out.Add(p.Place("namepool"), "every name once", "%s: pool.namepool: %q is not a valid member name", where, clip(n))
		}
		seen[n] = true
	}
}

// maxPool is the maximum number of members of a pool.
const maxPool = 10_000

// checkResolved reports problems visible only after resolution: prompt_mode
// flag without a flag, unavailable permission levels.
func (c *City) checkResolved(a *Agent, where string, out *toml.Report) {
	r, err := c.resolve(a, a.Name)
	if err != nil {
		return // reported where the chain is broken
	}
	if r.PromptMode == PromptFlag && r.PromptFlag == "" {
		out.Add(a.Place("prompt_mode"), `add prompt_flag = "--prompt"`, `%s: prompt_mode is "flag" but there is no prompt_flag`, where)
	}
	c.checkACP(a, &r, where, out)
	if p := r.problem; p != nil {
		out.Add(p.Pos(), p.Hint, "%s: %s", where, p.Msg)
	}
}

// dependency resolves an entry of depends_on for agent a: a qualified name, or
// else a name in the same dir. It returns a qualified name.
func (c *City) dependency(a *Agent, name string, names map[string]Pos) (string, bool) {
	for _, q := range []string{name, qualify(a.Dir, name)} {
		if _, ok := names[q]; ok {
			return q, true
		}
	}
	return "", false
}

func (c *City) validateDepends(names map[string]Pos, out *toml.Report) {
	graph := map[string][]string{}
	for i := range c.Agents {
		a := &c.Agents[i]
		self := a.QualifiedName()
		for _, dep := range a.DependsOn {
			q, ok := c.dependency(a, dep, names)
			switch {
			case !ok:
				hint := ""
				if near := nearest.Of(dep, sortedKeys(names)); near != "" {
					hint = "did you mean " + quote(near) + "?"
				}
				out.Add(a.Place("depends_on"), hint, "agent %q depends on %q, which is not an agent", self, clip(dep))
			case q == self:
				out.Add(a.Place("depends_on"), "", "agent %q depends on itself", self)
			default:
				graph[self] = append(graph[self], q)
			}
		}
	}
	for _, cycle := range cycles(graph) {
		out.Add(names[cycle[0]], "remove one of the dependencies", "agents depend on each other: %s", strings.Join(append(cycle, cycle[0]), " -> "))
	}
}

// cycles finds at least one cycle in every strongly connected component, each
// starting at its smallest name.
func cycles(graph map[string][]string) [][]string {
	const walking, done = 1, 2
	mark := map[string]int{}
	var found [][]string
	var path []string
	var walk func(string)
	walk = func(n string) {
		mark[n] = walking
		path = append(path, n)
		for _, next := range graph[n] {
			switch mark[next] {
			case walking:
				found = append(found, fromSmallest(path[slices.Index(path, next):]))
			case 0:
				walk(next)
			}
		}
		path = path[:len(path)-1]
		mark[n] = done
	}
	for _, n := range sortedKeys(graph) {
		if mark[n] == 0 {
			walk(n)
		}
	}
	return found
}

func fromSmallest(cycle []string) []string {
	at := slices.Index(cycle, slices.Min(cycle))
	return append(slices.Clone(cycle[at:]), cycle[:at]...)
}
