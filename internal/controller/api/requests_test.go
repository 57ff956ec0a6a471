package api

import (
	"encoding/json"
	"testing"
	"time"
)

// TestStopRequest: its JSON, and how long it gives the agents.
func TestStopRequest(t *testing.T) {
	const own = time.Minute
	for _, tt := range []struct {
		body  string
		limit time.Duration
	}{
		{`{}`, own},
		{`{"timeoutMs":1500}`, 1500 * time.Millisecond},
		{`{"timeoutMs":-1}`, own},
		{`{"timeoutMs":1500,"now":true}`, 0},
	} {
		var r StopRequest
		if err := json.Unmarshal([]byte(tt.body), &r); err != nil {
			t.Fatal(err)
		}
		if got := r.Limit(own); got != tt.limit {
			t.Errorf("%s: %v, want %v", tt.body, got, tt.limit)
		}
		if b, err := json.Marshal(r); err != nil || string(b) != tt.body {
			t.Errorf("%s, %v; want %s", b, err, tt.body)
		}
	}
}
