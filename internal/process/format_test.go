package process

import (
	"encoding/json"
	"testing"

	"gascity.dev/gc/internal/delivery"
)

// The format of mux.db and of the API.
func TestDeliveryFormat(t *testing.T) {
	for want, d := range map[string]Delivery{
		`{"eventId":"e/exit","sessionId":"e","owner":"o","state":"pending","tries":0,"created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z"}`: {
			Event: "e/exit", Session: "e", Owner: "o", Progress: delivery.Progress{State: Pending, Created: t0, Updated: t0},
		},
		`{"eventId":"e/exit","sessionId":"e","node":"n","owner":"o","always":true,"state":"injecting","batch":"b","by":"/city","tries":2,` +
			`"created":"2026-01-02T03:04:05Z","updated":"2026-01-02T03:04:05Z","next":"2026-01-02T03:04:05Z","lease":"2026-01-02T03:04:05Z","detail":"why"}`: {
			Event: "e/exit", Session: "e", Node: "n", Owner: "o", Always: true, Progress: delivery.Progress{
				State: Injecting, Batch: "b", By: "/city", Tries: 2, Created: t0, Updated: t0, Next: t0, Lease: t0, Detail: "why",
			},
		},
	} {
		if b, err := json.Marshal(d); err != nil || string(b) != want {
			t.Errorf("%s, %v, want\n%s", b, err, want)
		}
		var back Delivery
		if err := json.Unmarshal([]byte(want), &back); err != nil || back != d {
			t.Errorf("%+v, %v", back, err)
		}
	}
}
