// Package api is what the multiplexer's server and its clients say to each other:
// requests, answers, errors with their codes, and the paths where a server lives.
// The JSON of these types is the /v1 API of docs/api.md; fields are only ever added.
//
// It has no behaviour beyond encoding, and does no I/O. Everyone may import it.
package api
