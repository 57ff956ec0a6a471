package report

import (
	"bytes"
	"io"
	"testing"
	"time"

	"gascity.dev/gc/cmd/gc/internal/cli"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/runtime"
)

// An agent that gc stopped, as for idleness, and that starts again has no problem; one that
// ended by itself has.
func TestStoppedAndStartedAgainIsNoProblem(t *testing.T) {
	since := time.Now()
	for _, c := range []struct {
		reason string
		fails  bool
	}{{outcome.Stopped, false}, {"", true}} {
		var errs bytes.Buffer
		console := cli.NewConsole(cli.Streams{Out: io.Discard, Err: &errs}, nil)
		err := Problems(&console, cityapi.Status{
			Controller: cityapi.ControllerInfo{Since: &since},
			Agents: []cityapi.AgentStatus{{
				Name: "a", State: cityapi.StateStarting,
				LastExit: &runtime.Exit{Code: -1, Signal: "SIGTERM", Reason: c.reason, Time: since.Add(time.Second)},
			}},
		})
		if (err != nil) != c.fails || (errs.Len() > 0) != c.fails {
			t.Errorf("reason %q: %v, %s", c.reason, err, errs.String())
		}
	}
}
