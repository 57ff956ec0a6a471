// Package agent turns an agent of a city into what its sessions need: their
// name, environment, command, prompt and metadata.
//
// Its one invariant: a session name is made here and nowhere else, and the same
// identity always gives the same name. It serves the controller and the command
// line; sessions themselves belong to [runtime.Provider].
package agent
