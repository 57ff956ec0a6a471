// Package program turns the request for a session into what the keeper executes: it
// checks the request, finds the program as a shell would, and makes the environment.
//
// It starts nothing and knows no session. What cannot be executed becomes a shell that
// prints why and exits with status 126 or 127, as a person would see it.
//
// Only mux/server imports it.
package program
