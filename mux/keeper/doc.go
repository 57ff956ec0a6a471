// Package keeper is the parent of every session's program and of the server. It opens
// terminals, forks, reaps, holds the descriptors that must survive, and restarts the
// server when it dies. [Run] is that process, [Start] begins one, and [Link] is
// the server's end of the connection between them.
//
// The protocol of that connection is frozen: a keeper outlives many versions of the
// server, so tags are only ever added. A keeper never interprets what it holds, never
// listens to clients, and does nothing that could fail while programs depend on it.
// The server and its starters call it.
package keeper
