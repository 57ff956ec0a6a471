package clock

import (
	"encoding/json"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestResume: what a later process shows, after any change of the system's
// clock.
func TestResume(t *testing.T) {
	const year = 365 * 24 * time.Hour
	a := Anchor{Boot: "one", Mono: time.Hour, At: noon}
	for name, c := range map[string]struct {
		boot string
		mono time.Duration
		wall time.Time
		want time.Time
	}{
		"untouched":                 {"one", 2 * time.Hour, noon.Add(time.Hour), noon.Add(time.Hour)},
		"an hour forward":           {"one", 2 * time.Hour, noon.Add(2 * time.Hour), noon.Add(time.Hour)},
		"an hour back":              {"one", 2 * time.Hour, noon, noon.Add(time.Hour)},
		"a year forward":            {"one", time.Hour + time.Second, noon.Add(year), noon.Add(time.Second)},
		"a year back":               {"one", time.Hour + time.Second, noon.Add(-year), noon.Add(time.Second)},
		"a reboot":                  {"two", time.Minute, noon.Add(3 * time.Hour), noon.Add(3 * time.Hour)},
		"a reboot, a year back":     {"two", time.Minute, noon.Add(-year), noon},
		"the boot is unknown":       {"", 2 * time.Hour, noon.Add(time.Hour), noon.Add(time.Hour)},
		"unknown, and an hour back": {"", 2 * time.Hour, noon.Add(-time.Hour), noon},
	} {
		if got := resume(a, c.boot, c.mono, c.wall).at; !got.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := resume(Anchor{}, "one", time.Hour, noon).at; !got.Equal(noon) {
		t.Errorf("a first clock shows %v", got)
	}
}

// TestAnchorIsStored: two real clocks, one resumed from the other's anchor,
// show the same.
func TestAnchorIsStored(t *testing.T) {
	first := resume(Anchor{}, Boot(), sinceBoot(), time.Now().Add(-24*time.Hour)) // from a machine with a wrong clock
	b, err := json.Marshal(first.Anchor())
	if err != nil {
		t.Fatal(err)
	}
	var a Anchor
	if err := json.Unmarshal(b, &a); err != nil {
		t.Fatal(err)
	}
	if Boot() == "" {
		t.Log("this machine does not tell its boot")
		return
	}
	if d := Resume(a).Since(first.Now()); d.Abs() > time.Minute {
		t.Errorf("they differ by %v", d)
	}
}

// TestWall: people see how long ago it was.
func TestWall(t *testing.T) {
	c := resume(Anchor{Boot: "one", At: noon}, "one", 0, time.Now())
	if got := c.Wall(c.Now().Add(-time.Hour)); (time.Since(got) - time.Hour).Abs() > time.Minute {
		t.Errorf("an hour ago is %v", got)
	}
	if !c.Wall(time.Time{}).IsZero() {
		t.Error("the zero time changed")
	}
}
