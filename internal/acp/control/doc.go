// Package control is the protocol between the host of an ACP agent and whoever
// drives it: the provider, the multiplexer, the command line. It is version 1, and a
// later gc's client drives an earlier gc's host: fields and operations are only
// added.
//
// It runs over a byte stream: the host's unix socket, or the multiplexer's
// /v1/sessions/{id}/control, which leads there. Both sides send JSON objects, one a
// line, of at most 4 MiB. The host begins with a [Hello]. The client sends
// [Request]s, each with an id of its own; the host answers each with one [Reply] of
// that id, in any order. After [OpWatch] the host also sends replies without an id,
// each with the whole [State], whenever that changes; a slow client misses
// intermediate states, never the latest.
package control
