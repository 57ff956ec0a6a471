package store

import "errors"

// Errors of this package, for errors.Is. Each is wrapped with the file's path.
var (
	// ErrLocked: another process has the file open.
	ErrLocked = errors.New("database is locked by another process")
	// ErrCorrupt: the file is not a database of this schema, is truncated, or
	// has damaged pages or values. The file was not changed.
	ErrCorrupt = errors.New("database is damaged or not ours")
	// ErrNewer: a newer version of the program wrote the file. It was not
	// changed.
	ErrNewer = errors.New("database was written by a newer version")
	// ErrKey: a key or bucket name is empty or longer than MaxKey.
	ErrKey = errors.New("invalid key")
	// ErrReadOnly: a write in View.
	ErrReadOnly = errors.New("write in a read-only transaction")
	// ErrClosed: the database was closed.
	ErrClosed = errors.New("database is closed")
)
