//go:build k8s

package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// The protocol is v5.channel.k8s.io: the first byte of each message names its channel.
// client-go speaks it, too, but holds 150 KiB of buffers and nine goroutines for a stream
// (ADR 36).
const (
	channelIn = iota
	channelOut
	channelErr
	channelStatus // one metav1.Status at the end of the command
)

// Limits of a stream.
const (
	maxMessage = 32 << 10               // of the input in one message
	maxStatus  = 64 << 10               // of what says why something was refused or ended
	closeLimit = 200 * time.Millisecond // for the end of the input to be sent
)

// upgrader returns a client whose connections can be upgraded.
func upgrader(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return &http.Client{Transport: refusals{client.Transport}}, nil
}

// refusals makes errors of answers that do not upgrade the connection.
type refusals struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r refusals) RoundTrip(req *http.Request) (*http.Response, error) {
	transport := r.RoundTripper
	if transport == nil {
		transport = http.DefaultTransport
	}
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode == http.StatusSwitchingProtocols {
		return resp, err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus)) // what there is of it
	var status metav1.Status
	if json.Unmarshal(text, &status) == nil && status.Status == metav1.StatusFailure {
		return nil, &httpstream.UpgradeFailureError{Cause: &apierrors.StatusError{ErrStatus: status}}
	}
	return nil, &httpstream.UpgradeFailureError{Cause: fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(text)))}
}

// webSocket opens a stream. httpstream.IsUpgradeFailure: the cluster answered, and did not
// upgrade the connection.
func (d *Dialer) webSocket(ctx context.Context, t Target) (*channels, error) {
	client, err := d.upgrader()
	if err != nil {
		return nil, err
	}
	conn, _, err := websocket.Dial(ctx, d.address(t).String(), &websocket.DialOptions{
		HTTPClient: client, Subprotocols: []string{constants.StreamProtocolV5Name},
	})
	var failed *url.Error
	switch {
	case errors.As(err, &failed):
		return nil, failed.Err
	case err != nil:
		return nil, &httpstream.UpgradeFailureError{Cause: err}
	case conn.Subprotocol() != constants.StreamProtocolV5Name:
		_ = conn.CloseNow()
		return nil, &httpstream.UpgradeFailureError{Cause: fmt.Errorf("the cluster does not speak %s", constants.StreamProtocolV5Name)}
	}
	conn.SetReadLimit(-1) // messages are not kept
	return &channels{conn: conn, target: t}, nil
}

// channels is a stream over WebSocket.
type channels struct {
	conn   *websocket.Conn
	target Target
	closed atomic.Bool

	out    io.Reader // the rest of a message; nil: none
	said   tail
	status []byte // what the cluster said of the command's end
	err    error  // why Read failed
}

// Read implements io.Reader. It returns io.EOF only if the command ended with status 0.
func (s *channels) Read(p []byte) (int, error) {
	for s.err == nil {
		if s.out == nil {
			s.err = s.next()
			continue
		}
		n, err := s.out.Read(p)
		if err == io.EOF {
			s.out, err = nil, nil
		}
		if err != nil {
			s.err = s.why(err)
		}
		if n > 0 || len(p) == 0 {
			return n, nil
		}
	}
	return 0, s.err
}

// next reads up to the next message of standard output.
func (s *channels) next() error {
	for {
		_, message, err := s.conn.Reader(context.Background())
		if err != nil {
			return s.why(err)
		}
		var channel [1]byte
		if _, err := io.ReadFull(message, channel[:]); err == io.EOF {
			continue // an empty message
		} else if err != nil {
			return s.why(err)
		}
		switch channel[0] {
		case channelOut:
			s.out = message
			return nil
		case channelErr:
			_, err = io.CopyBuffer(struct{ io.Writer }{&s.said}, message, make([]byte, maxSaid))
		case channelStatus:
			s.status, err = io.ReadAll(io.LimitReader(message, maxStatus))
		}
		if err == nil {
			_, err = io.Copy(io.Discard, message)
		}
		if err != nil {
			return s.why(err)
		}
	}
}

// why returns why the stream ended, at which reading failed.
func (s *channels) why(err error) error {
	switch {
	case s.closed.Load():
		return io.ErrClosedPipe
	case s.status != nil:
		return why(s.target, ended(s.status), s.said.line())
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		err = io.ErrUnexpectedEOF
	}
	return why(s.target, fmt.Errorf("the stream was cut: %w", err), s.said.line())
}

// ended returns the error of a command that did not succeed.
func ended(message []byte) error {
	var status metav1.Status
	if err := json.Unmarshal(message, &status); err != nil {
		return fmt.Errorf("the end of the command: %w", err)
	}
	if status.Status == metav1.StatusSuccess {
		return nil
	}
	if status.Reason == constants.NonZeroExitCodeReason && status.Details != nil {
		for _, cause := range status.Details.Causes {
			if code, err := strconv.ParseUint(cause.Message, 10, 8); cause.Type == constants.ExitCodeCauseType && err == nil {
				return exec.CodeExitError{Code: int(code), Err: fmt.Errorf("command terminated with exit code %d", code)}
			}
		}
	}
	return errors.New(status.Message)
}

// messages are buffers of one message each, which idle streams do not hold.
var messages = sync.Pool{New: func() any { return new([1 + maxMessage]byte) }}

// Write implements io.Writer.
func (s *channels) Write(p []byte) (int, error) {
	buffer := messages.Get().(*[1 + maxMessage]byte)
	defer messages.Put(buffer)
	buffer[0] = channelIn
	for done := 0; done < len(p); {
		n := copy(buffer[1:], p[done:])
		if err := s.conn.Write(context.Background(), websocket.MessageBinary, buffer[:1+n]); err != nil {
			return done, fmt.Errorf("write to pod %s: %w", s.target, err)
		}
		done += n
	}
	return len(p), nil
}

// Close implements io.Closer. The command gets the end of its input: the cluster does not
// end a command whose stream is gone.
func (s *channels) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = s.conn.Write(ctx, websocket.MessageBinary, []byte{constants.StreamClose, channelIn}) // also if it is gone
	return s.conn.CloseNow()
}
