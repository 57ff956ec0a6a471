package session

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"gascity.dev/gc/store"
)

// ReadEvents returns the kept events after seq, oldest first, of a database that
// is not open. It changes nothing. A database that does not exist has none;
// store.ErrLocked if it is open.
func ReadEvents(path string, after uint64) (list []Event, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // Open would make it
		return nil, nil
	}
	db, err := store.Open(path, schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.View(func(tx *store.Tx) error {
		for key, e := range events.All(tx, "") {
			if n, err := strconv.ParseUint(key, 10, 64); err == nil && n > after {
				list = append(list, e)
			}
		}
		return nil
	})
	return list, err
}
