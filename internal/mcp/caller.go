package mcp

import (
	"cmp"
	"maps"
	"os"
	"slices"
	"strings"

	"gascity.dev/gc/internal/proctree"
)

// Caller is the session that this program serves. Agents give their MCP servers little of
// their environment, so that the session is looked for among the parent processes.
type Caller struct {
	Name string // of the session; "" if it is not known
	ID   string // of the session, where only that is known: its multiplexer knows the name
	// Environ has the variables of the session that this program was not given: those
	// that begin with GC_.
	Environ []string
	// Elsewhere is set if the session is not known and may still exist: this program must
	// not start a multiplexer, which would be another one than the session's.
	Elsewhere bool

	place map[string]string // variables that name the multiplexer, of the process that was found
}

// Getenv returns a variable that says where the session's multiplexer is.
func (c *Caller) Getenv(name string) string {
	if c.place != nil {
		return c.place[name]
	}
	return os.Getenv(name)
}

// Place returns the variables that say where the session's multiplexer is, for a program
// that starts it.
func (c *Caller) Place() []string {
	var env []string
	for _, k := range slices.Sorted(maps.Keys(c.place)) {
		env = append(env, k+"="+c.place[k])
	}
	return env
}

// Variables that name the session in its programs' environments; agents have both, other
// sessions the id.
const (
	callerVar = "GC_SESSION_NAME"
	idVar     = "GC_SESSION_ID"
)

// FindCaller finds out which session this program serves.
func FindCaller() *Caller {
	return findCaller(environment(os.Environ()), os.Getppid(), processes{
		parent:  func(pid int) (int, error) { p, err := proctree.Get(pid); return p.PPID, err },
		environ: proctree.Environ,
	})
}

// processes are the facts that findCaller needs.
type processes struct {
	parent  func(pid int) (int, error)
	environ func(pid int) (map[string]string, error)
}

// findCaller completes own, the environment of a program with this parent, from the nearest
// process above it that is in a session.
func findCaller(own map[string]string, parent int, p processes) *Caller {
	c := &Caller{Name: own[callerVar]}
	if c.Name == "" {
		c.ID = own[idVar]
	}
	if (c.Name != "" || c.ID != "") && own["GC_MUX_SOCKET"] != "" {
		return c
	}
	read, whole := false, true
	for pid := parent; pid > 1; {
		env, err := p.environ(pid)
		if err == nil && c.shares(env) {
			c.take(own, env)
			return c
		}
		read = read || err == nil
		if pid, err = p.parent(pid); err != nil {
			whole = false
			break
		}
	}
	c.Elsewhere = c.Name == "" && c.ID == "" && own["GC_MUX_SOCKET"] == "" && !(read && whole)
	return c
}

// shares reports whether the environment is of the caller's session, or of any if that is
// not known.
func (c *Caller) shares(env map[string]string) bool {
	switch {
	case c.Name != "":
		return env[callerVar] == c.Name
	case c.ID != "":
		return env[idVar] == c.ID
	}
	return env[callerVar] != "" || env[idVar] != ""
}

// take completes the caller from the environment of a process in its session.
func (c *Caller) take(own, env map[string]string) {
	if c.Name = env[callerVar]; c.Name == "" {
		c.ID = env[idVar]
	}
	c.place = map[string]string{}
	for _, k := range []string{"GC_MUX_SOCKET", "XDG_STATE_HOME", "HOME"} {
		c.place[k] = env[k]
	}
	c.place["GC_MUX_SOCKET"] = cmp.Or(own["GC_MUX_SOCKET"], env["GC_MUX_SOCKET"])
	for _, k := range slices.Sorted(maps.Keys(env)) {
		if _, ok := own[k]; !ok && strings.HasPrefix(k, "GC_") {
			c.Environ = append(c.Environ, k+"="+env[k])
		}
	}
}

func environment(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, kv := range list {
		k, v, _ := strings.Cut(kv, "=")
		env[k] = v
	}
	return env
}
