// Package statedir opens the places where a mux server lives: its state directory
// with the lock and the log, and its socket. Everything there is checked before
// it is used, since a parent directory may be shared: it must belong to this
// user, be of the right type, and not be a symbolic link.
//
// It does not interpret the files. The client and the server call it.
package statedir
