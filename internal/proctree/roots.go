package proctree

import (
	"context"
	"errors"
	"os"
	"strconv"
	"time"
)

// Root is the first process of a marked tree, with its environment.
type Root struct {
	Proc
	Env map[string]string
}

// Roots returns the live processes whose environment holds SessionVar = id (any
// value if id is "") and whose parent's does not: one for each session and each
// part of it that was cut off. Processes of other users are not seen.
func Roots(id string) ([]Root, error) {
	table, err := Table()
	if err != nil {
		return nil, err
	}
	envs := make(map[int]map[string]string)
	for _, p := range table {
		if p.Zombie() {
			continue
		}
		env, _, err := EnvironOf(p)
		if err == nil && env[SessionVar] != "" && !contained(p.PID) {
			envs[p.PID] = env
		}
	}
	var out []Root
	for _, p := range table {
		env := envs[p.PID]
		mark := env[SessionVar]
		if mark == "" || id != "" && mark != id || envs[p.PPID][SessionVar] == mark {
			continue
		}
		out = append(out, Root{Proc: p, Env: env})
	}
	return out, nil
}

// contained reports whether a process is in another PID namespace than this one: a container
// on this machine, such as the pod of an agent, is a machine of its own.
func contained(pid int) bool {
	its, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	own, ownErr := os.Readlink("/proc/self/ns/pid")
	return err == nil && ownErr == nil && its != own
}

// City returns the directory or the name of the city that the tree belongs to,
// "" for none.
func (r Root) City() string {
	if path := r.Env["GC_CITY_PATH"]; path != "" {
		return path
	}
	return r.Env["GC_CITY"]
}

// Epoch returns the epoch of the agent's start that the tree belongs to, 0 if
// unreadable.
func (r Root) Epoch() int64 {
	n, err := strconv.ParseInt(r.Env["GC_RUNTIME_EPOCH"], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// End ends the tree of a root, identified by pid, start time and marker; nil if
// it is gone.
func End(ctx context.Context, pid int, start uint64, id string, grace time.Duration) error {
	now, err := Get(pid)
	if errors.Is(err, ErrNotFound) || err == nil && (now.Start != start || now.Zombie()) {
		return nil
	}
	if err != nil {
		return err
	}
	return Kill(ctx, Tree{Root: pid, RootStart: start, ID: id}.Members, grace)
}
