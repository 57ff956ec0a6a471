package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stdio is the protocol's two streams, one message per line, with two additions
// to the SDK: an invalid line is answered with an error and skipped, and the
// end of the input waits for pending replies.
type stdio struct {
	in     *bufio.Reader
	toSDK  *io.PipeWriter
	closed chan struct{} // the SDK has stopped reading
	once   sync.Once

	mu      sync.Mutex // guards out and the fields below
	out     io.WriteCloser
	due     map[any]int // unanswered requests, by id
	version string      // from the handshake; "" without one
	quiet   chan struct{}
}

const (
	maxLine   = 16 << 20 // maximum message size in bytes, as in the SDK
	drainTime = time.Minute
)

// batchesEnd is the first version of the protocol without batches.
const batchesEnd = "2025-06-18"

// newStdio returns the SDK's transport over the streams.
func newStdio(in io.Reader, out io.WriteCloser) mcp.Transport {
	r, w := io.Pipe()
	s := &stdio{
		in: bufio.NewReader(in), toSDK: w, closed: make(chan struct{}),
		out: out, due: map[any]int{},
	}
	go s.pump()
	return &mcp.IOTransport{Reader: sdkReader{r, s}, Writer: s}
}

// sdkReader is the end that the SDK reads.
type sdkReader struct {
	*io.PipeReader
	s *stdio
}

func (r sdkReader) Close() error {
	r.s.once.Do(func() { close(r.s.closed) })
	return r.PipeReader.Close()
}

// pump passes messages on until the input ends.
func (s *stdio) pump() {
	for {
		line, err := s.readLine()
		if len(line) > 0 && s.take(line) {
			if _, err := s.toSDK.Write(append(line, '\n')); err != nil {
				return
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				s.drain()
			}
			s.toSDK.CloseWithError(err)
			return
		}
	}
}

// readLine returns the next line without its end. A line that is too long is
// answered with an error and skipped.
func (s *stdio) readLine() (line []byte, err error) {
	for {
		part, err := s.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if len(line) > maxLine {
			s.refuse(nil, jsonrpc.CodeInvalidRequest, "the message is too long")
			line = nil
		}
		return bytes.TrimSpace(line), err
	}
}

// drain waits a limited time until every request is answered.
func (s *stdio) drain() {
	s.mu.Lock()
	quiet := make(chan struct{})
	s.quiet = quiet
	s.answered()
	s.mu.Unlock()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-quiet:
	case <-s.closed:
	case <-timer.C:
	}
}

// answered records that a reply was sent. mu is held.
func (s *stdio) answered() {
	if s.quiet != nil && len(s.due) == 0 {
		close(s.quiet)
		s.quiet = nil
	}
}

// take reports whether the SDK can read a line; otherwise it answers with an
// error.
func (s *stdio) take(line []byte) bool {
	if !json.Valid(line) {
		s.refuse(nil, jsonrpc.CodeParseError, "the line is not JSON")
		return false
	}
	parts := []json.RawMessage{line}
	if line[0] == '[' {
		parts = nil // Unmarshal would write into its elements
		if json.Unmarshal(line, &parts) != nil || len(parts) == 0 {
			s.refuse(nil, jsonrpc.CodeInvalidRequest, "a batch has at least one message")
			return false
		}
		s.mu.Lock()
		over := s.version >= batchesEnd
		s.mu.Unlock()
		if over {
			s.refuse(nil, jsonrpc.CodeInvalidRequest, "this version of the protocol has no batches")
			return false
		}
	}
	var requests []*jsonrpc.Request
	ids := map[any]bool{}
	for _, part := range parts {
		m, err := jsonrpc.DecodeMessage(part)
		if err != nil {
			s.refuse(idOf(part), jsonrpc.CodeInvalidRequest, err.Error())
			return false
		}
		if r, ok := m.(*jsonrpc.Request); ok {
			if id := r.ID.Raw(); id != nil && ids[id] {
				s.refuse(id, jsonrpc.CodeInvalidRequest, "two requests of a batch have this id")
				return false
			} else if id != nil {
				ids[id] = true
			}
			requests = append(requests, r)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range requests {
		s.expect(r)
	}
	return true
}

// expect records a pending reply, or its cancellation. A subscription is
// answered when the input ends. mu is held.
func (s *stdio) expect(r *jsonrpc.Request) {
	switch {
	case r.Method == "notifications/cancelled":
		var p struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(r.Params, &p) == nil {
			if id, err := jsonrpc.MakeID(p.ID); err == nil {
				delete(s.due, id.Raw())
			}
		}
	case r.Method == "initialize":
		var p struct {
			Version string `json:"protocolVersion"`
		}
		if json.Unmarshal(r.Params, &p) == nil {
			s.version = p.Version // probably; the reply decides
		}
		s.due[r.ID.Raw()]++
	case r.ID.IsValid() && r.Method != "subscriptions/listen":
		s.due[r.ID.Raw()]++
	}
}

// idOf returns the id of an otherwise invalid message, nil if there is none.
func idOf(b []byte) any {
	var m struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(b, &m) != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(m.ID)
	if err != nil {
		return nil
	}
	return id.Raw()
}

// refuse answers a rejected line.
func (s *stdio) refuse(id any, code int64, why string) {
	b, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why},
	})
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.out.Write(append(b, '\n')) // the end of its input reveals a client that is gone
}

// Write takes the SDK's output, whole messages.
func (s *stdio) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.out.Write(p)
	for line := range bytes.Lines(p) {
		parts := []json.RawMessage{line}
		if line[0] == '[' {
			parts = nil
			_ = json.Unmarshal(line, &parts)
		}
		for _, part := range parts {
			s.said(part)
		}
	}
	s.answered()
	return n, err
}

// said records a reply. mu is held.
func (s *stdio) said(b []byte) {
	m, err := jsonrpc.DecodeMessage(bytes.TrimSpace(b))
	r, ok := m.(*jsonrpc.Response)
	if err != nil || !ok {
		return
	}
	if id := r.ID.Raw(); s.due[id] > 1 {
		s.due[id]--
	} else {
		delete(s.due, id)
	}
	var hello struct {
		Version string `json:"protocolVersion"`
	}
	if r.Result != nil && json.Unmarshal(r.Result, &hello) == nil && hello.Version != "" {
		s.version = hello.Version
	}
}

// Close does nothing: standard output stays open.
func (s *stdio) Close() error { return nil }
