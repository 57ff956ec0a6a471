//go:build k8s

package stream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
)

// Target is a command in a pod's container.
type Target struct {
	Namespace, Pod, Container string
	Command                   []string
}

// Dialer opens streams in one cluster. Safe for concurrent use.
type Dialer struct {
	config   *rest.Config
	client   rest.Interface
	upgrader func() (*http.Client, error) // made once: its credentials are shared by all streams
}

// New returns a Dialer of the cluster that config names.
func New(config *rest.Config, client kubernetes.Interface) *Dialer {
	return &Dialer{
		config: config, client: client.CoreV1().RESTClient(),
		upgrader: sync.OnceValues(func() (*http.Client, error) { return upgrader(config) }),
	}
}

// Open runs the command and returns once the cluster has accepted the stream, which
// outlives ctx. A command that cannot run may fail only then: Read returns the reason.
// The errors of both match those of this package. It speaks WebSocket, and then SPDY where
// the upgrade was refused.
func (d *Dialer) Open(ctx context.Context, t Target) (io.ReadWriteCloser, error) {
	s, err := d.webSocket(ctx, t)
	if err == nil {
		return s, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if !httpstream.IsUpgradeFailure(err) || final(err) {
		return nil, why(t, err, "")
	}
	second, err := d.spdy(ctx, t, err)
	if err != nil {
		return nil, err
	}
	return second, nil
}

// address returns the URL of the command.
func (d *Dialer) address(t Target) *url.URL {
	return d.client.Post().Resource("pods").Namespace(t.Namespace).Name(t.Pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Container: t.Container, Command: t.Command, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec).URL()
}

// why returns the error for the end of a stream, io.EOF for a command that succeeded.
func why(t Target, err error, said string) error {
	if err == nil {
		return io.EOF
	}
	return &Error{Pod: t.String(), Kind: kindOf(err), Said: said, Err: err}
}

// tail keeps the end of what a command wrote to standard error.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxSaid = 1 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxSaid):]...)
	t.text = t.text[max(0, len(t.text)-maxSaid):]
	return len(p), nil
}

// line is the last line, without control characters.
func (t *tail) line() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(t.text)
	return oneLine(string(text[bytes.LastIndexByte(text, '\n')+1:]))
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == unicode.ReplacementChar || !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
}

// String names the target for errors.
func (t Target) String() string { return fmt.Sprintf("%s/%s", t.Namespace, t.Pod) }
