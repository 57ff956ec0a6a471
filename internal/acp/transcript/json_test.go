package transcript_test

import (
	"encoding/json"
	"testing"

	"gascity.dev/gc/internal/acp/transcript"
)

func TestEntryJSON(t *testing.T) {
	for _, text := range []string{
		`{"n":3,"t":"2026-01-02T03:04:05Z","kind":"turn","id":"m","stop_reason":"end_turn","duration_ms":3200}`,
		`{"n":4,"t":"2026-01-02T03:04:05Z","kind":"prompt","text":"hi"}`,
	} {
		var v transcript.Entry
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(v); err != nil || string(got) != text {
			t.Errorf("%s, %v, want %s", got, err, text)
		}
	}
}
