// Package cli is the common base of gc's commands: the streams and how they print
// on them ([Console]), groups of commands ([Entry]), the help with the exit
// statuses ([Describe]), errors with an exit status and a hint ([Fail], [Report]),
// and suggestions for typos.
//
// It knows no command and contacts no server: it decides how gc prints, not
// what it does. An exit status or a hint is never derived from the text of an
// error. Only packages of cmd/gc call it.
package cli
