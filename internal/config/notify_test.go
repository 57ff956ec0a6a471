package config

import (
	"testing"
	"time"
)

func TestQuietFor(t *testing.T) {
	for _, c := range []struct {
		quiet, at string
		want      time.Duration
	}{
		{"", "12:00", 0},
		{"22:00-07:00", "21:59", 0},
		{"22:00-07:00", "22:00", 9 * time.Hour},
		{"22:00-07:00", "06:30", 30 * time.Minute},
		{"22:00-07:00", "07:00", 0},
		{"12:00-13:00", "12:15", 45 * time.Minute},
		{"12:00-13:00", "13:00", 0},
		{"12:00-13:00", "00:00", 0},
		{"00:00-00:00", "12:00", 0},
	} {
		now, err := time.Parse("15:04", c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := (Notify{Quiet: c.quiet}).QuietFor(now); got != c.want {
			t.Errorf("%q at %s: %v, want %v", c.quiet, c.at, got, c.want)
		}
	}
}
