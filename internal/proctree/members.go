package proctree

// SessionVar marks the processes of a session in their environment, for those
// that left its tree and its terminal.
const SessionVar = "GC_SESSION_ID"

// MarkVar marks them where SessionVar holds another program's id.
const MarkVar = "GC_MUX_MARK"

// Tree identifies a process tree even after parts of it ended.
type Tree struct {
	// Root is the pid of the first process; it and its descendants belong.
	Root int
	// RootStart is Root's Proc.Start. When it is set and Root or SID is found
	// in use by a later process, that one and its tree are not members. 0 trusts
	// the caller that Root was not collected yet.
	RootStart uint64
	// SID is a session whose processes belong; 0 for none.
	SID int
	// ID is the value of SessionVar or MarkVar that makes a process belong; ""
	// for none.
	ID string
}

// Members lists what belongs to the tree now, zombies included, by rising pid:
// the root and its descendants, the session, the marked processes, and the
// descendants of all of them. The calling process and pid 1 never belong.
func (t Tree) Members() ([]Proc, error) {
	all, err := Table()
	if err != nil {
		return nil, err
	}
	return t.members(all, marked), nil
}

// Scanner returns Members for repeated use, as in Kill: it reads the
// environment of each process once, which is most of the work on a machine
// with many of them. Not for concurrent use.
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

// members picks from a table; marked looks at a process's environment.
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

// reused says of Root and SID whether the number now belongs to a process
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

// withDescendants closes a set under "child of" and lists it in table order.
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

// Members is Tree.Members for a root that was not collected yet.
func Members(root, sid int, sessionID string) ([]Proc, error) {
	return Tree{Root: root, SID: sid, ID: sessionID}.Members()
}
