//go:build e2e

package e2e

import (
	"encoding/json"
	"math/rand/v2"
	"time"

	"gascity.dev/gc/internal/testenv/sshd"
	"gascity.dev/gc/mux/api"
)

// faults are what happened to the way to another machine, and to both ends of it.
type faults map[string]int

// strike makes one of the faults: a cut stream, a way that is lost for up to two seconds, a
// killed multiplexer there, a killed controller here, which is started again.
func (f faults) strike(c *liveCity, far *sshd.Host) {
	c.t.Helper()
	switch rand.IntN(4) { // random on purpose
	case 0:
		far.Cut()
		f["cut"]++
	case 1:
		far.Down()
		time.Sleep(rand.N(2 * time.Second))
		far.Up()
		f["lost"]++
	case 2:
		var st api.ServerStatus
		if err := json.Unmarshal([]byte(far.Run("gc mux status --json")), &st); err != nil {
			c.t.Fatal(err)
		}
		kill9(c.t, st.Server.PID)
		f["server"]++
	case 3:
		c.killController()
		// It exits 1 if an agent has a problem, such as a machine that was just lost.
		if r := c.run("start", c.path); r.code > 1 {
			c.t.Errorf("after the controller was killed: %s", r)
		}
		f["controller"]++
	}
}
