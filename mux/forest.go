package mux

import (
	"os"

	"gascity.dev/gc/internal/proctree"
)

// incarnation is a pid that cannot be mistaken for a later process's.
type incarnation struct {
	pid   int
	start uint64
}

// forest returns a function that lists the processes of many sessions with one
// scan of the process table, as proctree.Tree does for one. It reads each
// environment once. Not for concurrent use.
func forest(all []*session) func() ([]proctree.Proc, error) {
	roots := make(map[int]uint64, len(all))
	ids := make(map[string]bool, len(all))
	for _, s := range all {
		roots[s.pid] = s.start
		ids[s.rec.ID] = true
	}
	marks := make(map[incarnation]bool)
	marked := func(p proctree.Proc) bool {
		key := incarnation{p.PID, p.Start}
		is, known := marks[key]
		if !known {
			env, known, err := proctree.EnvironOf(p)
			if err != nil || !known {
				return false // another user's, or gone; or inside of execve, and looked at again
			}
			is = ids[env[proctree.SessionVar]] || ids[env[proctree.MarkVar]]
			marks[key] = is
		}
		return is
	}
	return func() ([]proctree.Proc, error) {
		table, err := proctree.Table()
		if err != nil {
			return nil, err
		}
		return members(table, roots, marked), nil
	}
}

// members picks what belongs to the roots: themselves, their terminals'
// sessions, marked processes, and the descendants of all of them.
func members(table []proctree.Proc, roots map[int]uint64, marked func(proctree.Proc) bool) []proctree.Proc {
	reused := make(map[int]bool) // pids of roots that belong to somebody else now
	for _, p := range table {
		if start, ok := roots[p.PID]; ok && start != 0 && p.Start > start {
			reused[p.PID] = true
		}
	}
	in := make(map[int]bool)
	for _, p := range table {
		_, root := roots[p.PID]
		_, session := roots[p.SID]
		in[p.PID] = root && !reused[p.PID] || session && !reused[p.SID] || !p.Zombie() && marked(p)
	}
	for grown := true; grown; {
		grown = false
		for _, p := range table {
			if !in[p.PID] && in[p.PPID] && p.PID != p.PPID {
				in[p.PID], grown = true, true
			}
		}
	}
	var out []proctree.Proc
	for _, p := range table {
		if in[p.PID] && p.PID != os.Getpid() && p.PID != 1 {
			out = append(out, p)
		}
	}
	return out
}
