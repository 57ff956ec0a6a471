// Package wrap makes providers out of providers: it bounds every call in time and
// puts the input of a session in order.
//
// It knows the contract and nothing of any backend. Whoever makes a provider for
// the rest of the program calls Decorate, once.
package wrap

import "gascity.dev/gc/runtime"

// Decoration is what every provider gets besides what it can do itself.
type Decoration struct {
	Deadlines Deadlines       // zero values are the defaults
	Report    func(Operation) // of every call that changes a session; may be nil
}

// Decorate returns p as the rest of the program uses it: bounded in time, with
// one order of a session's input where the backend keeps none, and reported. It
// is applied once, where a provider is made.
func Decorate(p runtime.Provider, d Decoration) runtime.Provider {
	p = WithDeadlines(&ordered{Provider: p, turns: map[string]*turn{}, unlessDone: true}, d.Deadlines)
	if d.Report != nil {
		p = Observed(p, d.Report)
	}
	return p
}
