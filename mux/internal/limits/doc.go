// Package limits turns the resource limits of a session into cgroups (version 2) and
// rlimits, and reports what enforces each limit, or why nothing does. It creates,
// kills and removes the cgroups of this user; it does not start programs. The server calls
// it.
package limits
