package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"gascity.dev/gc/internal/config"
)

// FarRequest is a request of a program in a session on another machine, which gets an
// answer while the city is connected to that machine. Fields are only ever added.
type FarRequest struct {
	InsideRequest                 // the session's agent: nobody else may ask
	Method        string          `json:"method"`
	Path          string          `json:"path"`
	Body          json.RawMessage `json:"body,omitempty"`
}

// FarAnswer is the answer to a FarRequest.
type FarAnswer struct {
	Body  json.RawMessage `json:"body,omitempty"`
	Error *WireError      `json:"error,omitempty"`
}

// FarCity is what programs on other machines may ask for.
type FarCity interface {
	// CheckInside returns an error unless the request is from the running instance of an
	// agent.
	CheckInside(ctx context.Context, q InsideRequest) error
	Status(ctx context.Context) (Status, error)
	Mail(ctx context.Context, q MailQuery) ([]Mail, error)
	ReadMail(ctx context.Context, q MailQuery) (MailRead, error)
	AckMail(ctx context.Context, q MailQuery) error
}

// maxFarAnswer bounds an answer, in bytes; the multiplexers that pass it on have the limit,
// too.
const maxFarAnswer = 15 << 20

// AnswerFar answers a request from a machine that is not trusted.
func AnswerFar(ctx context.Context, city FarCity, request []byte) []byte {
	v, err := answerFar(ctx, city, request)
	var a FarAnswer
	if err == nil {
		a.Body, err = json.Marshal(v)
	}
	if err == nil && len(a.Body) > maxFarAnswer {
		err = fmt.Errorf("an answer of %d bytes is too long for a session on another machine", len(a.Body))
	}
	if err != nil {
		a = FarAnswer{Error: NewWireError(err)}
	}
	b, err := json.Marshal(a)
	if err != nil {
		return []byte("{}") // cannot happen
	}
	return b
}

func answerFar(ctx context.Context, city FarCity, request []byte) (any, error) {
	var r FarRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, fmt.Errorf("bad request: %w", err)
	}
	if err := city.CheckInside(ctx, r.InsideRequest); err != nil {
		return nil, err
	}
	switch r.Method + " " + r.Path {
	case "GET /v1/status":
		return city.Status(ctx)
	case "POST /v1/mail/list":
		return answerMail(ctx, r, city.Mail)
	case "POST /v1/mail/read":
		return answerMail(ctx, r, city.ReadMail)
	case "POST /v1/mail/ack":
		return answerMail(ctx, r, func(ctx context.Context, q MailQuery) (struct{}, error) { return struct{}{}, city.AckMail(ctx, q) })
	}
	return nil, fmt.Errorf("a session on another machine cannot ask for %.40q", r.Method+" "+r.Path)
}

// answerMail answers a query about the mail of the agent that asks.
func answerMail[T any](ctx context.Context, r FarRequest, do func(context.Context, MailQuery) (T, error)) (any, error) {
	var q MailQuery
	if err := json.Unmarshal(r.Body, &q); err != nil {
		return nil, fmt.Errorf("bad request: %w", err)
	}
	q.InsideRequest = r.InsideRequest
	return do(ctx, q)
}

// NewFarClient returns a client for a program in a session on another machine than its
// city: only what AnswerFar answers can be asked for. self is the session's agent; ask passes
// a request on and returns the answer.
func NewFarClient(self InsideRequest, ask func(ctx context.Context, request []byte) ([]byte, error)) *Client {
	return &Client{far: true, http: &http.Client{Transport: &farTransport{self, ask}}}
}

// farTransport sends requests as FarRequests.
type farTransport struct {
	self InsideRequest
	ask  func(ctx context.Context, request []byte) ([]byte, error)
}

// RoundTrip implements http.RoundTripper.
func (t *farTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	q := FarRequest{InsideRequest: t.self, Method: r.Method, Path: r.URL.Path}
	if r.Body != nil {
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		q.Body = body
	}
	b, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	if b, err = t.ask(r.Context(), b); err != nil {
		return nil, err
	}
	var a FarAnswer
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("the city's answer: %w", err)
	}
	status, body := http.StatusOK, []byte(a.Body)
	if a.Error != nil {
		status = http.StatusInternalServerError
		if body, err = json.Marshal(a.Error); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Request: r, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

// farError is the error of a request that was not answered.
func farError(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

var _ http.RoundTripper = (*farTransport)(nil)

// cutOutboxID splits an [OutboxID].
func cutOutboxID(id string) (dir, city string) {
	if i := strings.LastIndexByte(id, '@'); i >= 0 {
		return id[:i], id[i+1:]
	}
	return id, ""
}

// OutboxDir is the directory of the city with an id in outboxes.
func OutboxDir(id string) string {
	dir, _ := cutOutboxID(id)
	return dir
}

// OutboxIsHere reports whether the city with an id in outboxes is on this machine and can be
// read. A directory of the same name that is another city's is not.
func OutboxIsHere(id string) bool {
	dir, city := cutOutboxID(id)
	found, ok := config.ReadIdentity(dir)
	return city != "" && ok && found.ID == city // without an id: cannot tell
}
