package server

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"gascity.dev/gc/mux/api"
)

// TestTimersOfPrograms: programs, those under limits and those of a server that
// was started again too, have the timers' slack of who started the mux, although
// the keeper has its own.
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
		return // that of other processes is shown to root only
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
