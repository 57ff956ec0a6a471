// Package cities passes requests of programs on this machine to a city that is on another
// one, and passes the answers back.
//
// A city is there while it listens: the server never connects to anything. A request is in
// memory only. It fails at once if its city does not listen, and when the city is lost
// before it answers; the asker then asks again. What must not be lost goes into the outbox. The
// package never looks into a request or an answer. Only mux/server imports it.
package cities
