package server

// nudges are a session's nudges: one at a time, in the order of arrival.
type nudges struct {
	s     *session
	queue *fifo // held by the nudge under way

	// guarded by session.mu
	left    unsent             // of the last one, not submitted
	flights map[uint64]*flight // under way, by the key of their id
}

// touch notes that a person has typed after what the last nudge left. mu is held.
func (ns *nudges) touch() { ns.left.touched = true }
