// Package protocol holds the messages of the Agent Client Protocol, version 1
// (https://agentclientprotocol.com), as a client sends and receives them.
//
// What an agent sends is decoded tolerantly, since agents, schema and documentation
// differ: unknown members, kinds and values pass, a member of a wrong type counts as
// absent, and a bad element of a list costs that element only.
package protocol

// Version is the protocol's version.
const Version = 1

// Methods of the agent.
const (
	MethodInitialize      = "initialize"
	MethodAuthenticate    = "authenticate"
	MethodNew             = "session/new"
	MethodLoad            = "session/load"
	MethodResume          = "session/resume"
	MethodClose           = "session/close"
	MethodSetMode         = "session/set_mode"
	MethodSetConfigOption = "session/set_config_option"
	MethodPrompt          = "session/prompt"
	MethodCancel          = "session/cancel"    // a notification
	MethodSteering        = "_session/steering" // an extension of several agents
)

// Methods of the client.
const (
	MethodUpdate           = "session/update" // a notification
	MethodPermission       = "session/request_permission"
	MethodElicitation      = "elicitation/create"
	MethodReadFile         = "fs/read_text_file"
	MethodWriteFile        = "fs/write_text_file"
	MethodTerminalCreate   = "terminal/create"
	MethodTerminalOutput   = "terminal/output"
	MethodTerminalWait     = "terminal/wait_for_exit"
	MethodTerminalKill     = "terminal/kill"
	MethodTerminalRelease  = "terminal/release"
	MethodCancelRequest    = "$/cancel_request" // a notification of either side
	MethodElicitationEnded = "elicitation/complete"
)

// Codes of errors beside those of JSON-RPC.
const (
	CodeAuth      = -32000 // authentication is required
	CodeNotFound  = -32002 // no such file, session, terminal
	CodeCancelled = -32800
)
