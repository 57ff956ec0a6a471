package session

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
)

// The format of city.db and of the API, through the life of one nudge.
func TestNudgeFormat(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	n := Nudge{ID: "1", Agent: "a", Text: "hi", SessionID: "s", State: NudgeQueued, Created: at, Expires: at.Add(time.Hour)}
	want := func(want string) {
		t.Helper()
		if b, err := json.Marshal(n); err != nil || string(b) != want {
			t.Errorf("%s, %v, want\n%s", b, err, want)
		}
	}
	step := func(errs ...error) {
		t.Helper()
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
	want(`{"id":"1","agent":"a","text":"hi","state":"queued","sessionId":"s","created":"2026-01-02T03:04:05Z","expires":"2026-01-02T04:04:05Z"}`)
	step(n.Begin(at, "s", 2))
	want(`{"id":"1","agent":"a","text":"hi","state":"delivering","sessionId":"s","epoch":2,"created":"2026-01-02T03:04:05Z","expires":"2026-01-02T04:04:05Z","lease":"2026-01-02T03:06:05Z","tries":1}`)
	step(n.End(at, runtime.Receipt{State: runtime.Blocked, By: "dialog"}, nil))
	want(`{"id":"1","agent":"a","text":"hi","state":"queued","receipt":"blocked","detail":"blocked dialog","sessionId":"s","epoch":2,"created":"2026-01-02T03:04:05Z","expires":"2026-01-02T04:04:05Z","notBefore":"2026-01-02T03:04:10Z","tries":1}`)
	at = at.Add(time.Minute)
	step(n.Begin(at, "s", 2))
	want(`{"id":"1","agent":"a","text":"hi","state":"delivering","receipt":"blocked","detail":"blocked dialog","sessionId":"s","epoch":2,"created":"2026-01-02T03:04:05Z","expires":"2026-01-02T04:04:05Z","notBefore":"2026-01-02T03:04:10Z","lease":"2026-01-02T03:07:05Z","tries":2}`)
	step(n.End(at, runtime.Receipt{State: runtime.Submitted, Detail: "d", Changed: "c"}, nil))
	want(`{"id":"1","agent":"a","text":"hi","state":"delivered","receipt":"submitted","detail":"d","changed":"c","sessionId":"s","epoch":2,"created":"2026-01-02T03:04:05Z","expires":"2026-01-02T04:04:05Z","notBefore":"2026-01-02T03:04:10Z","tries":2,"ended":"2026-01-02T03:05:05Z"}`)
}
