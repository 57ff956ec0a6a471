package runtime

import (
	"fmt"
	"time"
)

// Beacon is the first line of an agent's prompt, so that a conversation can be
// found again in the agent's own list:
//
//	[city] agent . 2026-03-01T15:04:05
//
// For an agent without hooks a second line says how to get its context. The time
// is shown in at's zone.
func Beacon(city, agent string, at time.Time, hooks bool) string {
	line := fmt.Sprintf("[%s] %s . %s", city, agent, at.Format("2006-01-02T15:04:05"))
	if !hooks {
		line += "\n\nRun `gc prime $GC_AGENT` to initialize your context."
	}
	return line
}
