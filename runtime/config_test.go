package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"gascity.dev/gc/runtime"
)

// TestConfigJSON: a digest of a config's JSON is stored with each agent, so the
// durations keep their form.
func TestConfigJSON(t *testing.T) {
	for _, text := range []string{`"ReadyDelayMs":0,`, `"ReadyDelayMs":1500,`} {
		var cfg runtime.Config
		if err := json.Unmarshal([]byte(`{`+text+`"Cols":1}`), &cfg); err != nil {
			t.Fatal(err)
		}
		if b, err := json.Marshal(cfg); err != nil || !strings.Contains(string(b), `"ReadyPromptPrefix":"",`+text+`"ProcessNames":null,`) {
			t.Errorf("%s: %s, %v", text, b, err)
		}
	}
}
