// Package endpoint owns the server's socket: it takes it over from the keeper or makes
// it, serves HTTP on it to processes of the same user only, makes it again when it was
// removed, and gives it to the next keeper. Handlers return a value or an error, and this
// package sends it as JSON.
//
// It knows no session and no route. A panic of a handler costs one request.
//
// Its lock is held while the socket is made again, which asks for the keeper's link, so no
// lock that the link needs is held by its callers.
//
// Only mux/server imports it.
package endpoint
