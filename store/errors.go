package store

import "errors"

// Errors of this package, told apart with errors.Is. Each comes wrapped with
// the file's path.
var (
	// ErrLocked: another process holds the file open.
	ErrLocked = errors.New("database is held by another process")
	// ErrCorrupt: the file is not a database of this schema, was cut short, or
	// holds damaged pages or values. The file was not changed.
	ErrCorrupt = errors.New("database is damaged or foreign")
	// ErrNewer: a newer version of the program wrote the file. It was not
	// changed.
	ErrNewer = errors.New("database was written by a newer version")
	// ErrKey: a key or bucket name is empty or longer than MaxKey.
	ErrKey = errors.New("unusable key")
	// ErrReadOnly: a write inside View.
	ErrReadOnly = errors.New("write in a read-only transaction")
	// ErrClosed: the database was closed.
	ErrClosed = errors.New("database is closed")
)
