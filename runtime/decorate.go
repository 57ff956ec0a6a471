package runtime

// Decoration is what every provider gets besides what it can do itself.
type Decoration struct {
	Deadlines Deadlines       // zero values are the defaults
	Report    func(Operation) // of every call that changes a session; may be nil
}

// Decorate returns p as the rest of the program uses it: bounded in time, with
// one order of a session's input where the backend keeps none, and reported. It
// is applied once, where a provider is made.
func Decorate(p Provider, d Decoration) Provider {
	p = WithDeadlines(&ordered{Provider: p, turns: map[string]*turn{}, unlessDone: true}, d.Deadlines)
	if d.Report != nil {
		p = Observed(p, d.Report)
	}
	return p
}
