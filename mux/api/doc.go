// Package api is the protocol between the multiplexer's server and its clients:
// requests, replies, errors with their codes, and a server's paths.
// The JSON of these types is the /v1 API of docs/api.md; fields are only ever added.
//
// It has no behaviour beyond encoding, and does no I/O. Any package may import it.
package api
