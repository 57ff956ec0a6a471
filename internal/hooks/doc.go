// Package hooks knows the hooks of coding agents: what their calls mean, and what a
// program gets so that it makes them for one session.
//
// Its invariant: nothing of the user's is written, and nothing of it is lost; what gc adds
// to a setting is added to the user's own, or is an error. The package does no I/O. The
// agents (internal/agent) and gc report call it.
package hooks
