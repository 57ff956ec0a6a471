package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"gascity.dev/gc/mux/api"
)

// EventStream delivers events in order. One goroutine reads it.
type EventStream struct {
	body io.ReadCloser
	r    *bufio.Reader
	last string
}

func newEventStream(body io.ReadCloser) *EventStream {
	return &EventStream{body: body, r: bufio.NewReader(body)}
}

// maxEvent bounds one event on the wire.
const maxEvent = 1 << 20

// Next waits for the next event. ErrSlow: events were dropped, and a new subscription
// after Last may still find them. Any other error means that the server is gone or the
// ctx of Events ended.
func (s *EventStream) Next() (api.Event, error) {
	var data []byte
	kind := ""
	for {
		line, err := s.r.ReadBytes('\n')
		if err != nil {
			return api.Event{}, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
		}
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(line) == 0 && kind == "slow":
			return api.Event{}, api.ErrSlow
		case len(line) == 0 && data != nil:
			var e api.Event
			if err := json.Unmarshal(data, &e); err != nil {
				return api.Event{}, fmt.Errorf("%w: event: %w", api.ErrUnreachable, err)
			}
			s.last = e.ID
			return e, nil
		case bytes.HasPrefix(line, []byte("event: ")):
			kind = string(line[7:])
		case bytes.HasPrefix(line, []byte("data: ")):
			data = append(data, line[6:]...)
		}
		if len(data) > maxEvent {
			return api.Event{}, fmt.Errorf("%w: event too long", api.ErrUnreachable)
		}
	}
}

// Last returns the id of the newest event that Next returned, to subscribe after it.
func (s *EventStream) Last() string { return s.last }

// Close ends the subscription; a blocked Next returns.
func (s *EventStream) Close() error { return s.body.Close() }
