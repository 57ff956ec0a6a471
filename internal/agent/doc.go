// Package agent derives what an agent's sessions need from the city's config:
// name, environment, command, prompt and metadata.
//
// Its invariant: session names are made only here, and the same identity always
// gives the same name. It serves the controller and the command line; sessions
// themselves belong to [runtime.Provider].
package agent
