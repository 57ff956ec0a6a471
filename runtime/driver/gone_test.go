package driver_test

import (
	"errors"
	"fmt"
	"testing"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

func TestYesNo(t *testing.T) {
	gone := fmt.Errorf("get: %w", runtime.ErrSessionNotFound)
	for _, tt := range []struct {
		yes    bool
		err    error
		answer bool
		text   string
	}{
		{true, nil, true, ""},
		{false, nil, false, ""},
		{true, gone, false, ""},
		{true, runtime.ErrBackendUnreachable, false, "state of a: cannot reach the session backend"},
	} {
		answer, err := driver.YesNo(tt.yes, "state of", "a", tt.err)
		if answer != tt.answer || (err == nil) != (tt.text == "") || err != nil && (err.Error() != tt.text || !errors.Is(err, tt.err)) {
			t.Errorf("%v, %v: %v, %v", tt.yes, tt.err, answer, err)
		}
	}
}
