package proctree

// SessionVar marks the processes of a session in their environment, to find
// those that left its tree and its terminal.
const SessionVar = "GC_SESSION_ID"

// MarkerVar is used instead if SessionVar holds another program's id.
const MarkerVar = "GC_MUX_MARK"

// Tree identifies a process tree even after parts of it have ended.
type Tree struct {
	// Root is the pid of the first process; it and its descendants are members.
	Root int
	// RootStart is Root's Proc.Start. If it is set and Root or SID now belongs
	// to a later process, that one and its tree are not members. 0 means that
	// the caller guarantees that Root was not reaped yet.
	RootStart uint64
	// SID is a session whose processes are members; 0 for none.
	SID int
	// ID is the value of SessionVar or MarkerVar that makes a process a member;
	// "" for none.
	ID string
}

// Members lists the current members, zombies included, by rising pid: the root
// and its descendants, the session, the marked processes, and the descendants
// of all of them. The calling process and pid 1 are never members.
func (t Tree) Members() ([]Proc, error) {
	all, err := Table()
	if err != nil {
		return nil, err
	}
	return t.members(all, hasMarker), nil
}

// Scanner returns Members for repeated use, as in Kill: it reads the
// environment of each process once, which is most of the work. The function is
// not safe for concurrent use.
func (t Tree) Scanner() func() ([]Proc, error) { return Forest{t}.Scanner() }

func (t Tree) members(all []Proc, hasMarker markerFunc) []Proc {
	return Forest{t}.members(all, hasMarker)
}

// Forest is a set of trees listed by one scan of the process table.
type Forest []Tree

// Scanner is Tree.Scanner for all trees together.
func (f Forest) Scanner() func() ([]Proc, error) {
	cache := make(map[key]bool)
	cached := func(p Proc, ids map[string]bool) (is, known bool) {
		is, known = cache[key{p.PID, p.Start}]
		if !known {
			if is, known = hasMarker(p, ids); known {
				cache[key{p.PID, p.Start}] = is
			}
		}
		return is, known
	}
	return func() ([]Proc, error) {
		all, err := Table()
		if err != nil {
			return nil, err
		}
		return f.members(all, cached), nil
	}
}

// markerFunc reports whether a process's environment has one of the ids.
type markerFunc = func(p Proc, ids map[string]bool) (is, known bool)

// members selects from a table.
func (f Forest) members(all []Proc, hasMarker markerFunc) []Proc {
	roots, sessions := make(map[int]bool, len(f)), make(map[int]bool, len(f))
	ids := make(map[string]bool, len(f))
	for _, t := range f {
		roots[t.Root], sessions[t.SID], ids[t.ID] = true, true, true
	}
	delete(roots, 0)
	delete(sessions, 0)
	delete(ids, "")
	reused := f.reused(all)
	in := make(map[int]bool)
	for _, p := range all {
		in[p.PID] = roots[p.PID] && !reused[p.PID] || sessions[p.SID] && !reused[p.SID]
		if !in[p.PID] && len(ids) > 0 && !p.Zombie() {
			in[p.PID], _ = hasMarker(p, ids)
		}
	}
	return withDescendants(all, in)
}

// reused returns the pids of roots and sessions that now belong to processes
// younger than the root.
func (f Forest) reused(all []Proc) map[int]bool {
	starts := make(map[int]uint64, len(f))
	for _, t := range f {
		starts[t.Root], starts[t.SID] = t.RootStart, t.RootStart
	}
	found := make(map[int]bool)
	for _, p := range all {
		if start := starts[p.PID]; start != 0 && p.Start > start {
			found[p.PID] = true
		}
	}
	return found
}

// withDescendants adds all descendants to a set and lists it in table order.
func withDescendants(all []Proc, in map[int]bool) []Proc {
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if !in[p.PID] && in[p.PPID] && p.PID != p.PPID {
				in[p.PID], grown = true, true
			}
		}
	}
	var found []Proc
	for _, p := range all {
		if in[p.PID] && !self(p) {
			found = append(found, p)
		}
	}
	return found
}

// Members is Tree.Members for a root that was not reaped yet.
func Members(root, sid int, sessionID string) ([]Proc, error) {
	return Tree{Root: root, SID: sid, ID: sessionID}.Members()
}
