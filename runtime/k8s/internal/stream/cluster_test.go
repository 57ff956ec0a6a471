//go:build k8s

package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

// remote is the far end of an exec.
type remote struct {
	in       io.Reader
	out, err io.Writer
	status   io.Writer // for the end of the command
	cut      func()    // breaks the connection
}

// end reports the end of the command as the API server does.
func (r remote) end(status metav1.Status) {
	_ = json.NewEncoder(r.status).Encode(status)
}

var success = metav1.Status{Status: metav1.StatusSuccess}

func exitCode(code int) metav1.Status {
	return metav1.Status{
		Status: metav1.StatusFailure, Reason: constants.NonZeroExitCodeReason,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: constants.ExitCodeCauseType, Message: strconv.Itoa(code)}}},
	}
}

func failed(text string) metav1.Status {
	return apierrors.NewInternalError(fmt.Errorf("%s", text)).Status()
}

// cluster serves exec of one pod.
type cluster struct {
	*httptest.Server
	command func(remote)
	refuse  map[string]*apierrors.StatusError // by verb of pods/exec: get is WebSocket, create is SPDY

	mu    sync.Mutex
	verbs []string
}

func newCluster(t *testing.T, command func(remote)) (*cluster, *Dialer) {
	t.Helper()
	c := &cluster{command: command, refuse: map[string]*apierrors.StatusError{}}
	var streams sync.WaitGroup
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		streams.Add(1)
		defer streams.Done()
		c.serve(w, r)
	}))
	c.Config.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, conn)
	}
	c.Start()
	t.Cleanup(func() {
		c.Close()
		streams.Wait()
	})
	config := &rest.Config{Host: c.URL}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c, New(config, client)
}

// connection is the key of a request's connection.
type connection struct{}

func cutOf(r *http.Request) func() {
	return func() { r.Context().Value(connection{}).(net.Conn).Close() }
}

var target = Target{Namespace: "ns", Pod: "pod", Container: "agent", Command: []string{"/gc/gc", "mux", "dial", "--many"}}

func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	verb := map[string]string{http.MethodGet: "get", http.MethodPost: "create"}[r.Method]
	c.mu.Lock()
	c.verbs = append(c.verbs, verb)
	refusal := c.refuse[verb]
	c.mu.Unlock()
	if refusal != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(int(refusal.ErrStatus.Code))
		_ = json.NewEncoder(w).Encode(refusal.ErrStatus)
		return
	}
	if q := r.URL.Query(); r.URL.Path != "/api/v1/namespaces/ns/pods/pod/exec" || q.Get("container") != "agent" || strings.Join(q["command"], " ") != "/gc/gc mux dial --many" {
		http.NotFound(w, r)
		return
	}
	if wsstream.IsWebSocketRequest(r) {
		c.webSocket(w, r)
	} else {
		c.spdy(w, r)
	}
}

func (c *cluster) webSocket(w http.ResponseWriter, r *http.Request) {
	channels := []wsstream.ChannelType{wsstream.ReadChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.WriteChannel, wsstream.IgnoreChannel}
	conn := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{constants.StreamProtocolV5Name: {Binary: true, Channels: channels}})
	conn.SetIdleTimeout(time.Minute)
	_, streams, err := conn.Open(w, r)
	if err != nil {
		return
	}
	defer conn.Close()
	c.command(remote{in: streams[0], out: streams[1], err: streams[2], status: streams[3], cut: cutOf(r)})
}

func (c *cluster) spdy(w http.ResponseWriter, r *http.Request) {
	if _, err := httpstream.Handshake(r, w, []string{constants.StreamProtocolV4Name}); err != nil {
		return
	}
	type arrived struct {
		httpstream.Stream
		sent <-chan struct{}
	}
	all := make(chan arrived, 4)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, sent <-chan struct{}) error {
		all <- arrived{s, sent}
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	rem := remote{cut: cutOf(r)}
	var closers []io.Closer
	for range 4 {
		s := <-all
		<-s.sent
		closers = append(closers, s)
		switch s.Headers().Get(corev1.StreamType) {
		case corev1.StreamTypeStdin:
			rem.in = s
		case corev1.StreamTypeStdout:
			rem.out = s
		case corev1.StreamTypeStderr:
			rem.err = s
		case corev1.StreamTypeError:
			rem.status = s
		}
	}
	c.command(rem)
	for _, s := range closers {
		_ = s.Close()
	}
}

func (c *cluster) asked() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.verbs, " ")
}

// withoutWebSocket is an API server that refuses the upgrade, as a proxy may.
func withoutWebSocket(c *cluster) {
	c.refuse["get"] = apierrors.NewBadRequest("no WebSocket here")
}

func forbidden(verb string) *apierrors.StatusError {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "pod",
		fmt.Errorf(`User "u" cannot %s resource "pods/exec" in API group "" in the namespace "ns"`, verb))
}
