package proctree

// SessionVar marks the processes of a session in their environment, to find
// those that left its tree and its terminal.
const SessionVar = "GC_SESSION_ID"

// MarkVar is used instead if SessionVar holds another program's id.
const MarkVar = "GC_MUX_MARK"

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
	// ID is the value of SessionVar or MarkVar that makes a process a member;
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
	return t.members(all, marked), nil
}

// Scanner returns Members for repeated use, as in Kill: it reads the
// environment of each process once, which is most of the work. The function is
// not safe for concurrent use.
func (t Tree) Scanner() func() ([]Proc, error) {
	type verdict struct{ marked, known bool }
	cache := make(map[key]verdict)
	cached := func(p Proc, id string) (is, known bool) {
		v := cache[key{p.PID, p.Start}]
		if !v.known {
			v.marked, v.known = marked(p, id)
			cache[key{p.PID, p.Start}] = v
		}
		return v.marked, v.known
	}
	return func() ([]Proc, error) {
		all, err := Table()
		if err != nil {
			return nil, err
		}
		return t.members(all, cached), nil
	}
}

// members selects from a table; marked checks a process's environment.
func (t Tree) members(all []Proc, marked func(Proc, string) (is, known bool)) []Proc {
	reused := t.reused(all)
	in := make(map[int]bool)
	for _, p := range all {
		switch {
		case t.Root > 0 && p.PID == t.Root:
			in[p.PID] = !reused[t.Root]
		case t.SID > 0 && p.SID == t.SID:
			in[p.PID] = !reused[t.SID]
		}
		if !in[p.PID] && t.ID != "" && !p.Zombie() {
			in[p.PID], _ = marked(p, t.ID)
		}
	}
	return withDescendants(all, in)
}

// reused reports for Root and SID whether the number now belongs to a process
// younger than the root.
func (t Tree) reused(all []Proc) map[int]bool {
	found := make(map[int]bool)
	for _, p := range all {
		if p.PID == t.Root || p.PID == t.SID {
			found[p.PID] = t.RootStart != 0 && p.Start > t.RootStart
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
