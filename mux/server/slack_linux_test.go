package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestTimersOfPrograms: programs, even with limits or after a restart of the
// server, have the timer slack of the process that started the mux, not the
// keeper's.
func TestTimersOfPrograms(t *testing.T) {
	own := slackOf(t, "self")
	c := startServer(t)
	show := `echo "slack $(cat /proc/self/timerslack_ns)."; exec cat`
	create(t, c, "plain", show)
	await(t, c, "plain", `slack `+own+`\.`)
	if _, err := c.Create(t.Context(), api.CreateRequest{Name: "limited", Command: show, Env: testEnv, Limits: api.Limits{OpenFiles: 50}}); err != nil {
		t.Fatal(err)
	}
	await(t, c, "limited", `slack `+own+`\.`)
	killServer(t, c)
	create(t, c, "later", show)
	await(t, c, "later", `slack `+own+`\.`)
	if os.Geteuid() != 0 {
		return // only root may read it of other processes
	}
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := slackOf(t, fmt.Sprint(st.Server.PID)); got != own {
		t.Errorf("the server's slack is %s, want %s", got, own)
	}
	if got := slackOf(t, fmt.Sprint(st.Keeper.PID)); own != "0" && got == own {
		t.Errorf("the keeper's slack is %s as everybody's", got)
	}
}

func slackOf(t *testing.T, pid string) string {
	t.Helper()
	b, err := os.ReadFile("/proc/" + pid + "/timerslack_ns")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}
