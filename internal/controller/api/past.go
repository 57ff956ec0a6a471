package api

import (
	"gascity.dev/gc/internal/session"
)

// PastEvents returns the kept events after seq, oldest first, of a city without
// a controller. It changes nothing.
func PastEvents(city string, after uint64) ([]Event, error) {
	return session.ReadEvents(DBPath(city), after)
}
