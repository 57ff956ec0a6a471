package process

import "time"

// Clock gives times that go on evenly, whatever is done to the system's clock
// meanwhile.
type Clock struct{ start time.Time }

// NewClock begins at the system's time.
func NewClock() *Clock { return &Clock{time.Now()} }

// Now is the time, counted from the clock's beginning.
func (c *Clock) Now() time.Time { return c.start.Add(time.Since(c.start)) }
