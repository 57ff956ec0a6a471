package agent

import "gascity.dev/gc/internal/config"

// For recordMax: the size of a pool without a limit, and the least for one recording.
const (
	unlimitedPool  = 64
	leastRecording = 1 << 20
)

// recordMax returns an equal part of max_kept for each session that can run at once, so
// that the recordings of those that run stay within it; 0 without a limit.
func recordMax(c *config.City) int64 {
	if c.Daemon.MaxKept == 0 {
		return 0
	}
	sessions := 0
	for i := range c.Agents {
		n := 1
		if p := c.Agents[i].Pool; p != nil && p.Max < 0 {
			n = max(p.Min, unlimitedPool)
		} else if p != nil {
			n = max(p.Max, 1)
		}
		sessions += n
	}
	return max(int64(c.Daemon.MaxKept)/int64(max(sessions, 1)), leastRecording)
}
