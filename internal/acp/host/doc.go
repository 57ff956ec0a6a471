// Package host is gc-acp: the program of a session whose agent speaks the Agent
// Client Protocol (ACP).
//
// It owns the agent's process and pipes, the state of the conversation, the queue of
// messages and the transcript. It paints the conversation on its terminal, reports
// the agent's status there (OSC 7501), and serves a control socket. The multiplexer
// keeps it: the host outlives controller and server, and ends with its agent.
//
// One goroutine, that of host.run, has all state. Others only bring it something: a
// message of the agent, a request, typed bytes, a signal, the end of a timer. It
// never waits for a client, nor for the agent. Only main calls Run.
package host
