package rule

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The parts of a time. Only zones are always written the same way.
const (
	clockPart = `(?:(\d{1,2})(?::(\d{2}))?(?::\d{2})? ?([ap])\.?m\b\.?|(\d{1,2}):(\d{2})(?::\d{2})?|(midnight|noon)\b)`
	monthPart = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?`
	dayPart   = `(?:` + monthPart + ` (\d{1,2})(?:st|nd|rd|th)?|(\d{1,2})(?:st|nd|rd|th)? ` + monthPart + `)(?:,? (\d{4}))?`
	weekPart  = `(mon|tue|wed|thu|fri|sat|sun)(?:[a-z]*day)?,?`
	zonePart  = `(?: ?\(?((?-i:[A-Z][A-Za-z]+/[A-Za-z0-9_/+-]+|UTC|GMT|Z|[A-Z]{2,4}T))\)?(?:[ .,;)]|$))?`
)

type timeForms struct{ stamp, span, unit, date, week, clock *regexp.Regexp }

var forms = sync.OnceValue(func() timeForms {
	c := func(s string) *regexp.Regexp { return regexp.MustCompile(`(?i)^` + s) }
	return timeForms{
		stamp: c(`(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)? ?(z|utc|[+-]\d{2}:?\d{2})?(?:[ .,;)]|$)`),
		span:  c(`(?:in )?((?:\d+(?:\.\d+)? ?(?:days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)[ ,]*(?:and )?)+)(?:[^a-z0-9]|$)`),
		unit:  regexp.MustCompile(`(?i)(\d+(?:\.\d+)?) ?([dhms])`),
		date:  c(dayPart + `,? (?:at )?` + clockPart + zonePart),
		week:  c(`(?:(tomorrow)|` + weekPart + `) (?:at )?` + clockPart + zonePart),
		clock: c(clockPart + zonePart),
	}
})

// Ends returns when the limit in a message ends: the time after one of the rule's words. The
// message was written at now; a time without a zone is in here. ok is false if it names none,
// or one that is not clear, such as a day without a time.
func (r *Limit) Ends(text string, now time.Time, here *time.Location) (at time.Time, ok bool) {
	words := usualUntil
	if r != nil && len(r.Until) > 0 {
		words = r.Until
	}
	text = strings.Join(strings.Fields(text), " ")
	for _, w := range words {
		for i := range text {
			if len(text)-i < len(w) || !strings.EqualFold(text[i:i+len(w)], w) {
				continue
			}
			if at, ok := timeAt(text[i+len(w):], now.In(here)); ok {
				return at, true
			}
		}
	}
	return time.Time{}, false
}

// timeAt returns the time that a text begins with.
func timeAt(s string, now time.Time) (time.Time, bool) {
	s = strings.TrimLeft(s, " :·-(")
	for _, w := range []string{"at ", "on ", "by ", "after ", "is "} {
		s = strings.TrimPrefix(s, w)
	}
	f := forms()
	if m := f.stamp.FindStringSubmatch(s); m != nil {
		return stampTime(m, now)
	}
	if m := f.span.FindStringSubmatch(s); m != nil {
		var d time.Duration
		for _, u := range f.unit.FindAllStringSubmatch(m[1], -1) {
			n, err := strconv.ParseFloat(u[1], 64)
			if err != nil || n > 10_000 {
				return time.Time{}, false
			}
			d += time.Duration(n * float64(units[strings.ToLower(u[2])]))
		}
		return now.Add(d), true
	}
	if m := f.date.FindStringSubmatch(s); m != nil {
		return dateTime(m, now)
	}
	if m := f.week.FindStringSubmatch(s); m != nil {
		return weekTime(m, now)
	}
	if m := f.clock.FindStringSubmatch(s); m != nil {
		return clockTime(m[1:], now, func(at time.Time) time.Time {
			if at.Before(now.Add(-past)) {
				return at.AddDate(0, 0, 1)
			}
			return at
		})
	}
	return time.Time{}, false
}

var units = map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}

// past is how long a time of day may be over without meaning tomorrow's.
const past = 10 * time.Minute

func stampTime(m []string, now time.Time) (time.Time, bool) {
	clock, zone := m[2], strings.ToUpper(strings.ReplaceAll(m[3], ":", ""))
	if len(clock) == len("15:04") {
		clock += ":00"
	}
	if zone == "" {
		at, err := time.ParseInLocation(time.DateTime, m[1]+" "+clock, now.Location())
		return at, err == nil
	}
	if zone == "Z" || zone == "UTC" {
		zone = "+0000"
	}
	at, err := time.Parse(time.DateTime+" -0700", m[1]+" "+clock+" "+zone)
	return at, err == nil
}

var months = []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}

func dateTime(m []string, now time.Time) (time.Time, bool) {
	month, day := m[1]+m[4], m[2]+m[3]
	d, err := strconv.Atoi(day)
	if err != nil {
		return time.Time{}, false
	}
	year, named := now.Year(), m[5] != ""
	if named {
		year, _ = strconv.Atoi(m[5]) // four digits
	}
	want := time.Month(slices.Index(months, strings.ToLower(month)) + 1)
	at, ok := clockTime(m[6:], now, func(at time.Time) time.Time {
		on := func(year int) time.Time {
			return time.Date(year, want, d, at.Hour(), at.Minute(), 0, 0, at.Location())
		}
		if t := on(year); named || t.After(now.AddDate(0, -6, 0)) {
			return t
		}
		return on(year + 1)
	})
	return at, ok && at.Day() == d // 31 February
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

func weekTime(m []string, now time.Time) (time.Time, bool) {
	return clockTime(m[3:], now, func(at time.Time) time.Time {
		if m[1] != "" {
			return at.AddDate(0, 0, 1)
		}
		days := (slices.Index(weekdays, strings.ToLower(m[2])) - int(at.Weekday()) + 7) % 7
		if at = at.AddDate(0, 0, days); at.Before(now.Add(-past)) {
			return at.AddDate(0, 0, 7)
		}
		return at
	})
}

// clockTime reads the parts of a time of day and its zone; on puts the time, which is today,
// on its day.
func clockTime(m []string, now time.Time, on func(today time.Time) time.Time) (time.Time, bool) {
	hour, minute := 0, 0
	switch {
	case strings.EqualFold(m[5], "noon"):
		hour = 12
	case m[5] != "": // midnight
	case m[2] != "":
		hour, _ = strconv.Atoi(m[0]) // digits
		minute, _ = strconv.Atoi(m[1])
		if hour < 1 || hour > 12 {
			return time.Time{}, false
		}
		if hour %= 12; strings.EqualFold(m[2], "p") {
			hour += 12
		}
	default:
		hour, _ = strconv.Atoi(m[3])
		minute, _ = strconv.Atoi(m[4])
	}
	zone, ok := zoneOf(m[6], now)
	if !ok || hour > 23 || minute > 59 {
		return time.Time{}, false
	}
	today := now.In(zone)
	return on(time.Date(today.Year(), today.Month(), today.Day(), hour, minute, 0, 0, zone)), true
}

// zones are the abbreviations that programs with American formats write, in hours east of UTC.
var zones = map[string]int{
	"UTC": 0, "GMT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}

// zoneOf returns the zone of a name; that of now for none.
func zoneOf(name string, now time.Time) (*time.Location, bool) {
	if name == "" {
		return now.Location(), true
	}
	if strings.Contains(name, "/") {
		loc, err := time.LoadLocation(name)
		return loc, err == nil
	}
	for _, t := range []time.Time{now, now.AddDate(0, 6, 0)} { // the zone here, in summer and in winter
		if own, _ := t.Zone(); own == name {
			return now.Location(), true
		}
	}
	hours, ok := zones[name]
	return time.FixedZone(name, hours*3600), ok
}
