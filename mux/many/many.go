// Package many carries many connections over one byte stream, such as the standard
// streams of ssh, with yamux.
//
// It knows bytes and greetings: no HTTP, no ssh, no sessions. The far side calls
// [Serve], the near side [Open]; mux/client and internal/link are the near side, and
// gc mux dial --many is the far side.
//
// The far side greets first, with one line: gc-many/1 and a [Hello] as JSON. The near
// side skips what a login shell prints before that line and answers with a line of the
// same form. Everything after it is yamux, with the near side as the client. The first
// yamux stream carries the numbers of streams that one side has closed for both
// directions, 4 bytes each: yamux itself can only close the direction to the peer. Every
// other stream is a connection. It begins with a [Request] as one line of JSON, and the
// far side answers with {} or {"error":…,"code":…} in one line before its own bytes. The
// near side does not wait for that answer before it sends.
package many

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Hello is what a side says about itself.
type Hello struct {
	Version  string   `json:"version"` // of gc
	Features []string `json:"features"`
	OS       string   `json:"os"`
	Arch     string   `json:"arch"`
}

// Has reports whether the side has the feature.
func (h Hello) Has(feature string) bool { return slices.Contains(h.Features, feature) }

// Request is what the near side wants from a connection.
type Request struct {
	Kind string          `json:"kind"`
	Args json.RawMessage `json:"args,omitempty"`
}

// Refused is the far side's answer to a request that it does not serve.
type Refused struct {
	Code string `json:"code"`
	Text string `json:"error"`
}

// Error is the text of the far side.
func (r *Refused) Error() string { return r.Text }

// Options of a session; the zero value is right outside tests.
type Options struct {
	PingEvery   time.Duration // how long nothing may arrive before a ping is sent; 0: 30 s
	PingTimeout time.Duration // how long nothing may arrive after a ping; 0: 15 s
}

// The protocol's name, and its version, which a side must share with its peer.
const (
	protocol = "gc-many/"
	major    = 1
)

// Limits of what is read before it is trusted.
const (
	maxNoise   = 64 << 10 // what precedes the greeting
	maxLine    = 64 << 10 // a greeting
	maxRequest = 1 << 20
	quoted     = 200 // bytes of noise that an error repeats
)

// VersionError reports a peer whose protocol has another major version.
type VersionError struct {
	Peer Hello
	Has  int // its version
}

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("gc %s there speaks %s%d, this gc speaks %s%d", e.Peer.Version, protocol, e.Has, protocol, major)
}

// InsteadError reports a peer that printed something and did not greet.
type InsteadError struct {
	Printed string // the end of it, as one line without control characters
	Err     error  // how the stream ended
}

// Error has both.
func (e *InsteadError) Error() string {
	return e.Err.Error() + "; instead of gc, something there printed: " + e.Printed
}

// Unwrap returns how the stream ended.
func (e *InsteadError) Unwrap() error { return e.Err }

// greet writes a side's greeting.
func greet(w io.Writer, mine Hello) error {
	b, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "%s%d %s\n", protocol, major, b)
	return err
}

// readHello reads lines up to the peer's greeting.
func readHello(r *bufio.Reader) (Hello, error) {
	var noise []byte
	for {
		line, err := readLine(r, maxLine)
		if peer, version, ok := parseHello(line); ok && err == nil {
			if version != major {
				return peer, &VersionError{Peer: peer, Has: version}
			}
			return peer, nil
		}
		noise = append(noise, line...)
		if err == nil && len(noise) < maxNoise {
			continue
		}
		switch {
		case err == nil || errors.Is(err, bufio.ErrTooLong):
			err = fmt.Errorf("no greeting in the first %d bytes", len(noise))
		case errors.Is(err, io.EOF):
			err = fmt.Errorf("no greeting: %w", io.ErrUnexpectedEOF)
		}
		if said := printable(noise); said != "" {
			err = &InsteadError{Printed: said, Err: err}
		}
		return Hello{}, err
	}
}

// parseHello finds a greeting at the end of a line: a shell may have printed a prompt
// before it.
func parseHello(line []byte) (Hello, int, bool) {
	i := bytes.Index(line, []byte(protocol))
	if i < 0 {
		return Hello{}, 0, false
	}
	digits, object, _ := bytes.Cut(line[i+len(protocol):], []byte(" "))
	version, err := strconv.Atoi(string(digits))
	var h Hello
	if err != nil || json.Unmarshal(object, &h) != nil {
		return Hello{}, 0, false
	}
	return h, version, true
}

// readLine reads through a newline. bufio.ErrTooLong after limit bytes without one;
// what was read is returned with every error.
func readLine(r *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) >= limit {
			return line, bufio.ErrTooLong
		}
	}
}

// printable returns the end of a text as one line without control characters.
func printable(b []byte) string {
	b = b[max(0, len(b)-quoted):]
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, string(b))
	return strings.Join(strings.Fields(clean), " ")
}

// answer writes the line that answers a request.
func answer(w io.Writer, a any) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// Open greets the far side of rw as the near side; it owns rw, also if it fails.
// Closing rw must end a blocked Read. An error is a *VersionError, the end of ctx, or
// one of rw with what the other side printed instead of a greeting.
func Open(ctx context.Context, rw io.ReadWriteCloser, mine Hello, o Options) (*Session, error) {
	r := bufio.NewReaderSize(rw, readBuffer)
	peer, err := exchange(ctx, rw, func() (Hello, error) {
		peer, err := readHello(r)
		if err != nil {
			return peer, err
		}
		return peer, greet(rw, mine)
	})
	if err != nil {
		return nil, err
	}
	s, err := newSession(newLink(rw, r), peer, o, true)
	if err != nil {
		return nil, err
	}
	go s.refuseAll()
	return s, nil
}

// exchange runs the greetings until ctx ends, and closes rw if they fail.
func exchange(ctx context.Context, rw io.Closer, greetings func() (Hello, error)) (Hello, error) {
	stop := context.AfterFunc(ctx, func() { rw.Close() })
	peer, err := greetings()
	if !stop() {
		return peer, context.Cause(ctx)
	}
	if err != nil {
		rw.Close()
	}
	return peer, err
}
