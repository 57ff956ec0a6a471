// Package wrap makes providers out of providers: it bounds every call in time and
// puts the input of a session in order.
//
// It owns the one forwarding base (Forward), which wrappers and the router embed,
// and knows the contract and nothing of any backend. Code that makes a provider
// for the rest of the program calls Decorate once.
package wrap

import "gascity.dev/gc/runtime"

// Decorate returns p as the rest of the program uses it: bounded in time, and with
// one order of a session's input where the backend keeps none.
func Decorate(p runtime.Provider, d Deadlines) runtime.Provider {
	return WithDeadlines(InOrder(p), d)
}
