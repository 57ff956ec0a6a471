// Package conversation is the state of one conversation with an agent that speaks
// the Agent Client Protocol (ACP): what was said, which tools ran, the plan, usage,
// modes and commands.
//
// It owns no I/O, no clock and no lock: the host's goroutine is its only caller. Its
// form follows the draft of protocol 2 (everything has an id and is updated by it),
// whatever version the agent speaks. Texts are sanitised when they are stored, so
// that they can be written to a terminal.
package conversation
