package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"gascity.dev/gc/mux/api"
)

// AskCity passes a request to a city on another machine and returns its answer.
// ErrCityAway: the city is not connected to this machine. ErrNoAnswer: it is slow; whether it
// has carried out the request is unknown. ErrVersion: the server is too old.
func (c *Client) AskCity(ctx context.Context, city string, body []byte) (json.RawMessage, error) {
	var a api.CityAnswer
	err := c.call(ctx, "POST", "/v1/city/requests", api.CityRequest{City: city, Body: body}, &a)
	return a.Body, err
}

// CityRequests listens as a city for the requests of programs on the server's machine. The
// city is connected when CityRequests returns, until the stream ends.
func (c *Client) CityRequests(ctx context.Context, city string) (*CityStream, error) {
	resp, err := c.Do(ctx, "GET", "/v1/city/requests?city="+url.QueryEscape(city), nil)
	if err != nil {
		return nil, err
	}
	return &CityStream{body: resp.Body, r: bufio.NewReader(resp.Body)}, nil
}

// AnswerCity answers a request; nil also if the program does not wait any more.
func (c *Client) AnswerCity(ctx context.Context, id string, body []byte) error {
	return c.call(ctx, "POST", "/v1/city/requests/"+url.PathEscape(id), api.CityAnswer{Body: body}, nil)
}

// CityStream delivers requests to a city. One goroutine reads it.
type CityStream struct {
	body io.ReadCloser
	r    *bufio.Reader
}

// maxCityLine bounds a request on the wire, which may come from a machine that is not
// trusted: JSON may write a byte in six.
const maxCityLine = 6*api.MaxCityRequest + 4096

// Next waits for the next request. An error means that the server is gone, the ctx of
// CityRequests ended, or the stream is nonsense.
func (s *CityStream) Next() (api.CityAsked, error) {
	var line []byte
	for {
		part, err := s.r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			break
		}
		if err != bufio.ErrBufferFull {
			return api.CityAsked{}, fmt.Errorf("%w: %w", api.ErrUnreachable, err)
		}
		if len(line) > maxCityLine {
			return api.CityAsked{}, fmt.Errorf("%w: a request of more than %d bytes", api.ErrUnreachable, maxCityLine)
		}
	}
	var q api.CityAsked
	if err := json.Unmarshal(line, &q); err != nil {
		return q, fmt.Errorf("%w: request: %w", api.ErrUnreachable, err)
	}
	return q, nil
}

// Close ends the stream; a blocked Next returns.
func (s *CityStream) Close() error { return s.body.Close() }
