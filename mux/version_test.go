package mux

import (
	"errors"
	"testing"
)

// What an older server has no path for says what is, and not a status.
func TestRequestThatTheServerDoesNotKnow(t *testing.T) {
	c := startServer(t)
	for _, method := range []string{"GET", "POST"} {
		err := c.call(t.Context(), method, "/v1/from-a-later-version", nil, nil)
		if !errors.Is(err, ErrVersion) || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if _, err := c.Get(t.Context(), "none"); !errors.Is(err, ErrNotFound) || errors.Is(err, ErrVersion) {
		t.Errorf("a session that is not there: %v", err)
	}
}
