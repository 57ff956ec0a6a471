package mcp

import (
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"gascity.dev/gc/mux/api"
)

// TestDurationsInSchemas: to an agent, a duration is an optional integer.
func TestDurationsInSchemas(t *testing.T) {
	for name, s := range map[string]*jsonschema.Schema{
		"exec: yieldMs timeoutMs idleTimeoutMs": schema[execInput](nil),
		"process: waitMs timeoutMs graceMs":     schema[processInput](nil),
		"wait: quietMs timeoutMs":               schema[waitInput](nil),
		"result: durationMs idleMs":             schema[api.ExecResult](nil),
	} {
		_, fields, _ := strings.Cut(name, ": ")
		for field := range strings.FieldsSeq(fields) {
			p := s.Properties[field]
			if p == nil || p.Type != "integer" && strings.Join(p.Types, " ") != "null integer" {
				t.Errorf("%s: %s is %+v", name, field, p)
			}
		}
		for _, field := range s.Required {
			if strings.HasSuffix(field, "Ms") && field != "durationMs" {
				t.Errorf("%s requires %s", name, field)
			}
		}
	}
}
