package tui

import (
	"strconv"
	"time"
)

// ageStep is how finely ages are shown, and how often they are looked at: a picture that
// changes every second would be painted every second.
const ageStep = 10 * time.Second

// age is the time since t in one unit; "" for the zero time.
func age(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	d := max(now.Sub(t), 0)
	switch {
	case d < ageStep:
		return "now"
	case d < time.Minute:
		return strconv.Itoa(int(d/ageStep)*int(ageStep/time.Second)) + "s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + "h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + "d"
}

// ago is age for a sentence.
func ago(t, now time.Time) string {
	switch a := age(t, now); a {
	case "", "now":
		return a
	default:
		return a + " ago"
	}
}
