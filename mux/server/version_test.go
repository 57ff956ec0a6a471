package server

import (
	"errors"
	"testing"

	"gascity.dev/gc/mux/api"
)

// An older server answers a path it does not know with an explanation, not only a status.
func TestRequestThatTheServerDoesNotKnow(t *testing.T) {
	c := startServer(t)
	for _, method := range []string{"GET", "POST"} {
		_, err := c.Do(t.Context(), method, "/v1/from-a-later-version", nil)
		if !errors.Is(err, api.ErrVersion) || errors.Is(err, api.ErrNotFound) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := c.Get(t.Context(), "none"); !errors.Is(err, api.ErrNotFound) || errors.Is(err, api.ErrVersion) {
		t.Errorf("a session that is not there: %v", err)
	}
}
