// Package wire is a JSON-RPC 2.0 connection to a program that writes one message per
// line, such as an agent that speaks the Agent Client Protocol. It knows no method
// of any protocol; the host of an agent is its only user.
//
// Messages are delivered in the order in which they came, through one channel: an
// answer never overtakes a notification. Nothing is dropped for lack of room: while
// the owner does not read the channel, the agent blocks on its pipe. In the other
// direction nothing waits for the agent: messages are queued, up to a limit.
//
// A line that is not a message is junk: it is counted, passed to [Options.Junk], and
// never ends the connection.
package wire
