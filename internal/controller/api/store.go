package api

import (
	"errors"
	"os"

	"gascity.dev/gc/internal/session"
)

// OpenStore opens the city's database. The caller holds the city's lock. A file
// that cannot be used is left as it is.
func OpenStore(city string) (*session.Store, error) {
	path := DBPath(city)
	b, err := session.Open(path)
	switch {
	case err == nil:
		return b, nil
	case errors.Is(err, session.ErrCorrupt):
		return nil, Hinted("move "+path+" away to continue with empty records; running agents are adopted", "%w", err)
	case errors.Is(err, session.ErrNewer):
		return nil, Hinted("use the newer gc that wrote it", "%w", err)
	case errors.Is(err, session.ErrLocked):
		return nil, Hinted("another program has it open: fuser "+path, "%w", err)
	case errors.Is(err, os.ErrPermission):
		return nil, StateDirError(city, err)
	}
	return nil, err
}
