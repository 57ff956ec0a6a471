package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"gascity.dev/gc/mux"
)

// momentLayouts are the ways to write a time, in the order they are tried.
var momentLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", "15:04:05", "15:04"}

// peekMoment reads the value of --at into a request: a time, a duration since the
// beginning of the recording (or before now, with a minus), or a number of bytes
// of output.
func peekMoment(r *mux.PeekRequest, at string, now time.Time) error {
	if n, err := strconv.ParseUint(at, 10, 64); err == nil {
		r.AtOutput = &n
		return nil
	}
	if d, err := time.ParseDuration(at); err == nil {
		if strings.HasPrefix(at, "-") {
			r.At = now.Add(d)
		} else {
			r.Elapsed = &d
		}
		return nil
	}
	for _, layout := range momentLayouts {
		t, err := time.ParseInLocation(layout, at, now.Location())
		if err != nil {
			continue
		}
		if t.Year() == 0 { // a time of day
			t = time.Date(now.Year(), now.Month(), now.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), now.Location())
		}
		r.At = t
		return nil
	}
	return fail(exitUsage, "a time such as 14:03:22 or 2026-01-31T14:03:22Z, 90s since the start, -30s from now, or bytes of output",
		"--at %q is no time, duration or number", at)
}

// peekAt shows what a recorded session showed.
func peekAt(ctx context.Context, a *app, t *target, r mux.PeekRequest, at string) error {
	if err := peekMoment(&r, at, time.Now()); err != nil {
		return err
	}
	client, err := recordedClient(ctx, t, "peek --at")
	if err != nil {
		return err
	}
	res, err := client.Peek(ctx, r)
	if err != nil {
		return err
	}
	if r.Format == mux.FormatANSI && a.onTerminal() {
		return a.printRows(ctx, client, r, res)
	}
	return a.printPeek(res, r.Format)
}
