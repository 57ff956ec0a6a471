package clock

import (
	"encoding/json"
	"math"
	"testing"
	"time"
)

func TestMillis(t *testing.T) {
	type wire struct {
		Always Millis  `json:"always"`
		Zero   Millis  `json:"zero,omitzero"`
		Maybe  *Millis `json:"maybe,omitempty"`
	}
	none, second := Millis(0), Millis(time.Second)
	for _, tt := range []struct {
		v    wire
		want string
	}{
		{wire{}, `{"always":0}`},
		{wire{second, second, &second}, `{"always":1000,"zero":1000,"maybe":1000}`},
		{wire{-second, -second, &none}, `{"always":-1000,"zero":-1000,"maybe":0}`},
		{wire{Millis(999 * time.Microsecond), Millis(999 * time.Microsecond), nil}, `{"always":0}`},
		{wire{Always: Millis(1999 * time.Microsecond)}, `{"always":1}`},
	} {
		if b, err := json.Marshal(tt.v); err != nil || string(b) != tt.want {
			t.Errorf("%+v: %s, %v; want %s", tt.v, b, err, tt.want)
		}
	}
	for text, want := range map[string]time.Duration{
		`0`: 0, `250`: 250 * time.Millisecond, `-1`: -time.Millisecond, `null`: time.Second,
		`9223372036854775807`: math.MaxInt64 / time.Millisecond * time.Millisecond, `-9223372036854775808`: math.MinInt64 / time.Millisecond * time.Millisecond,
	} {
		v := wire{Always: Millis(time.Second)}
		if err := json.Unmarshal([]byte(`{"always":`+text+`}`), &v); err != nil || time.Duration(v.Always) != want {
			t.Errorf("%s: %v, %v; want %v", text, time.Duration(v.Always), err, want)
		}
	}
}
