//go:build linux && k8s && e2e

package k8s_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"gascity.dev/gc/runtime"
)

// older is a way to the API server that knows no WebSocket, as API servers before 1.29 and
// some proxies: it refuses the upgrade and passes on SPDY's.
type older struct {
	*httptest.Server
	refused, passed atomic.Int64
}

func (c *cluster) older(t *testing.T) *older {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	secure, err := rest.TLSConfigFor(rest.AnonymousClientConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	secure.NextProtos = []string{"http/1.1"} // an upgrade is of a connection
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		Transport:     &http.Transport{TLSClientConfig: secure, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}},
		FlushInterval: -1,
	}
	o := &older{}
	o.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch upgrade := strings.ToLower(r.Header.Get("Upgrade")); {
		case upgrade == "websocket":
			o.refused.Add(1)
			http.Error(w, "Upgrade request required", http.StatusBadRequest)
			return
		case upgrade != "":
			o.passed.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(o.Close)
	return o
}

// spdy: with an API server that speaks no WebSocket, sessions are as with any other, also
// after their streams were cut.
func (c *cluster) spdy(t *testing.T) {
	o := c.older(t)
	way := newCutter(t, o.Listener.Addr().String())
	s := c.settings(strict, boxImage)
	s.Kubeconfig = c.account(t, "older", right{})
	for _, args := range [][]string{{"config", "set-cluster", "older", "--server=https://" + way.Addr().String(), "--insecure-skip-tls-verify=true"}, {"config", "set-context", "--current", "--cluster=older"}} {
		cmd := c.Kubectl(t.Context(), append([]string{"--kubeconfig", s.Kubeconfig}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	p := provider(t, s, "older", nil)
	start(t, p, "a", runtime.Config{Command: "echo I am here; exec cat"})
	shows(t, p, "a", "I am here")
	if _, err := p.Nudge(t.Context(), "a", runtime.TextContent("hello there")); err != nil {
		t.Error(err)
	}
	shows(t, p, "a", "hello there")
	if o.refused.Load() == 0 || o.passed.Load() == 0 {
		t.Errorf("%d WebSockets were refused, %d streams of SPDY passed on", o.refused.Load(), o.passed.Load())
	}
	way.cut()
	eventually(t, 30*time.Second, func() error {
		_, err := p.Nudge(t.Context(), "a", runtime.TextContent("after the cut"))
		return err
	})
	shows(t, p, "a", "after the cut")
}
