// Package journal keeps the data that must outlive a server process: the output
// that no snapshot holds yet, snapshots of the screen, the progress of a nudge and
// of a person's typing ([Journal], in memory that the keeper holds), the lines
// above the screen ([History], in a file), and recordings ([Recording]).
//
// It knows the bytes, not sessions, programs or clients. A Journal is not safe for
// concurrent use, nor is a Recording: its owner's lock orders all calls. A [History] and
// its [Writer] are. Only the server calls it. The layout of the memory is shared by servers of every
// version; fields are only ever added.
package journal
