package runtime_test

import (
	"encoding/json"
	"testing"

	"gascity.dev/gc/runtime"
)

func TestTurnJSON(t *testing.T) {
	for _, text := range []string{
		`{"n":1,"id":"m","stop_reason":"end_turn","duration_ms":3200,"input_tokens":10,"ended":"2026-01-02T03:04:05Z"}`,
		`{"n":1,"id":"m","error":"no","duration_ms":0,"ended":"2026-01-02T03:04:05Z"}`,
	} {
		var v runtime.Turn
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(v); err != nil || string(got) != text {
			t.Errorf("%s, %v, want %s", got, err, text)
		}
	}
}
