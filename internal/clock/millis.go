package clock

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// Millis is a duration whose JSON form is an integer, in milliseconds. A fraction of a
// millisecond is cut off, so less than one is the zero of omitzero.
type Millis time.Duration

// IsZero reports whether the JSON form is 0.
func (d Millis) IsZero() bool { return time.Duration(d).Milliseconds() == 0 }

// MarshalJSON implements json.Marshaler.
func (d Millis) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON implements json.Unmarshaler. What a time.Duration cannot hold becomes
// the longest that it can, 292 years; null changes nothing.
func (d *Millis) UnmarshalJSON(data []byte) error {
	n := new(int64)
	if err := json.Unmarshal(data, &n); err != nil || n == nil {
		return err
	}
	const most = math.MaxInt64 / int64(time.Millisecond)
	*d = Millis(time.Duration(min(max(*n, -most), most)) * time.Millisecond)
	return nil
}
