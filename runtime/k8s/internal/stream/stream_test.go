//go:build k8s

package stream

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

func TestMain(m *testing.M) {
	klog.LogToStderr(false) // of the server
	klog.SetOutput(io.Discard)
	// This of client-go ends 30 s after its connection.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/moby/spdystream.(*Connection).shutdown"))
}

// protocols are what a cluster may accept.
var protocols = map[string]func(*cluster){"WebSocket": func(*cluster) {}, "SPDY": withoutWebSocket}

func each(t *testing.T, command func(remote), test func(*testing.T, *cluster, *Dialer)) {
	t.Helper()
	for name, set := range protocols {
		t.Run(name, func(t *testing.T) {
			c, d := newCluster(t, command)
			set(c)
			test(t, c, d)
		})
	}
}

func open(t *testing.T, d *Dialer) io.ReadWriteCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel() // the stream outlives it
	s, err := d.Open(ctx, target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// Bytes arrive both ways, unchanged, and the end of the input reaches the command.
func TestBytes(t *testing.T) {
	inputEnded := make(chan error, 2)
	echo := func(r remote) {
		_, err := io.Copy(r.out, r.in)
		inputEnded <- err
	}
	each(t, echo, func(t *testing.T, c *cluster, d *Dialer) {
		s := open(t, d)
		sent := make([]byte, 1<<20)
		rand.Read(sent)
		go func() { _, _ = s.Write(sent) }() // if it fails, so does Read
		got := make([]byte, len(sent))
		if _, err := io.ReadFull(s, got); err != nil || !bytes.Equal(got, sent) {
			t.Fatalf("%v; equal %v", err, bytes.Equal(got, sent))
		}
		s.Close()
		<-inputEnded
		want := "get"
		if c.refuse["get"] != nil {
			want = "get create"
		}
		if c.asked() != want {
			t.Errorf("it asked for %s, want %s", c.asked(), want)
		}
	})
}

// The end of a command is io.EOF if it succeeded; else the error says why.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		status metav1.Status
		said   string
		kind   error
		text   string
	}{
		"success":   {status: success},
		"status":    {exitCode(3), "gc: no\x1b such thing\n", ErrCommand, "pod ns/pod: command terminated with exit code 3: gc: no such thing"},
		"container": {failed(`unable to upgrade connection: container not found ("agent")`), "", ErrNotRunning, `container not found ("agent")`},
		"program":   {failed(`error executing command in container: failed to exec in container: OCI runtime exec failed: stat /gc/gc: no such file`), "", ErrCommand, "/gc/gc"},
		"other":     {failed("the node is tired"), "", nil, "tired"},
	} {
		t.Run(name, func(t *testing.T) {
			command := func(r remote) {
				_, _ = io.WriteString(r.out, "out")
				_, _ = io.WriteString(r.err, c.said)
				r.end(c.status)
			}
			each(t, command, func(t *testing.T, cl *cluster, d *Dialer) {
				out, err := io.ReadAll(open(t, d))
				if string(out) != "out" {
					t.Errorf("%q", out)
				}
				if c.status.Status == metav1.StatusSuccess {
					if overSPDY := cl.refuse["get"] != nil; overSPDY != errors.Is(err, io.ErrUnexpectedEOF) || !overSPDY && err != nil {
						t.Error(err)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), c.text) || c.kind != nil && !errors.Is(err, c.kind) {
					t.Errorf("%v", err)
				}
			})
		})
	}
}

// Refusals are told apart, and both protocols are asked only where the second may help.
func TestRefusals(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "pod")
	for name, c := range map[string]struct {
		get, create *apierrors.StatusError
		kind        error
		asked       string
		texts       []string
	}{
		"forbidden":        {forbidden("get"), forbidden("create"), ErrForbidden, "get create", []string{"cannot get", "cannot create"}},
		"create forbidden": {apierrors.NewBadRequest("no"), forbidden("create"), ErrForbidden, "get create", []string{"cannot create"}},
		"gone":             {gone, gone, ErrPodGone, "get", []string{"not found"}},
		"unauthorized":     {apierrors.NewUnauthorized("who?"), nil, ErrForbidden, "get", []string{"who?"}},
		"busy":             {apierrors.NewTooManyRequestsError("later"), nil, ErrRefused, "get", []string{"later"}},
		"not running": {
			apierrors.NewBadRequest("container agent is not available, current phase is Succeeded"),
			apierrors.NewBadRequest("container agent is not available, current phase is Succeeded"), ErrNotRunning, "get create", []string{"Succeeded"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			cl, d := newCluster(t, func(remote) { t.Error("it ran") })
			cl.refuse["get"], cl.refuse["create"] = c.get, c.create
			s, err := d.Open(t.Context(), target)
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			if !errors.Is(err, c.kind) {
				t.Errorf("%v, want %v", err, c.kind)
			}
			for _, text := range c.texts {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v lacks %q", err, text)
				}
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %q", err)
			}
			if cl.asked() != c.asked {
				t.Errorf("asked for %s, want %s", cl.asked(), c.asked)
			}
		})
	}
}

// A role that allows only `create`, as older ones do, still works.
func TestOnlyCreateIsAllowed(t *testing.T) {
	c, d := newCluster(t, func(r remote) { _, _ = io.WriteString(r.out, "hello"); r.end(success) })
	c.refuse["get"] = forbidden("get")
	if out, err := io.ReadAll(open(t, d)); string(out) != "hello" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%q, %v", out, err)
	}
}

// The error that says that a fallback may help is the one of k8s.io/streaming.
func TestUpgradeFailureIsRecognised(t *testing.T) {
	c, d := newCluster(t, func(remote) {})
	withoutWebSocket(c)
	_, err := d.webSocket(t.Context(), target)
	if !httpstream.IsUpgradeFailure(err) {
		t.Errorf("%T %v is not recognised", err, err)
	}
}

// A cut is not the end of the data.
func TestCut(t *testing.T) {
	command := func(r remote) {
		_, _ = io.WriteString(r.out, "before")
		b := make([]byte, 5)
		_, _ = io.ReadFull(r.in, b)
		r.cut()
		_, _ = io.Copy(io.Discard, r.in)
	}
	each(t, command, func(t *testing.T, _ *cluster, d *Dialer) {
		s := open(t, d)
		b := make([]byte, 6)
		if _, err := io.ReadFull(s, b); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(s, "cut!\n"); err != nil {
			t.Fatal(err)
		}
		_, err := s.Read(b)
		if err == nil || err == io.EOF {
			t.Errorf("a cut reads as %v", err)
		}
		for _, kind := range []error{ErrForbidden, ErrPodGone, ErrNotRunning, ErrCommand, ErrRefused} {
			if errors.Is(err, kind) {
				t.Errorf("%v is %v", err, kind)
			}
		}
	})
}

// A cluster that does not answer is left when ctx ends; one that stops reading, when the
// stream is closed.
func TestStalled(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	config := &rest.Config{Host: "http://" + l.Addr().String()}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("long enough")
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		accepted <- conn
		cancel(reason)
	}()
	if _, err := New(config, client).Open(ctx, target); !errors.Is(err, reason) {
		t.Errorf("%v", err)
	}
	(<-accepted).Close()

	release := make(chan struct{})
	each(t, func(remote) { <-release }, func(t *testing.T, _ *cluster, d *Dialer) {
		s := open(t, d)
		t.Cleanup(func() { release <- struct{}{} }) // before the server waits for the command
		ends := make(chan error, 2)
		go func() { _, err := s.Read(make([]byte, 1)); ends <- err }()
		go func() {
			b := make([]byte, 64<<10)
			for {
				if _, err := s.Write(b); err != nil {
					ends <- err
					return
				}
			}
		}()
		s.Close()
		for range 2 {
			if err := <-ends; err == nil || err == io.EOF {
				t.Errorf("ended with %v", err)
			}
		}
	})
}
