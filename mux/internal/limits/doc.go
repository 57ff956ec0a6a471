// Package limits turns the resource limits of a session into cgroups (version 2) and
// rlimits, and says of each limit what holds it, or why nothing does. It makes and
// removes the cgroups of this user; it does not start programs. The server calls it.
package limits
