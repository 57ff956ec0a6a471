//go:build linux

package k8snode

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// apiClient speaks to the API server as the administrator.
type apiClient struct {
	server string
	http   *http.Client
}

func newAPIClient(server string, ca *authority) (*apiClient, error) {
	pair, err := tls.LoadX509KeyPair(ca.path("admin.crt"), ca.path("admin.key"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{pair}}
	return &apiClient{server: server, http: &http.Client{Transport: &http.Transport{TLSClientConfig: config}}}, nil
}

// Call sends a request to the API server and decodes the reply into out, if it
// is not nil.
func (n *Node) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	reply, err := n.api.do(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer reply.Close()
	if out == nil {
		return nil
	}
	return json.NewDecoder(reply).Decode(out)
}

func (c *apiClient) do(ctx context.Context, method, path string, body io.Reader) (io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.server+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	reply, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if reply.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(reply.Body, 4096)) // only for the message
		_ = reply.Body.Close()
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, reply.Status, bytes.TrimSpace(text))
	}
	return reply.Body, nil
}

// Watch calls done with every object of a list, as it is now and after each
// change, until done returns true.
func Watch[T any](ctx context.Context, n *Node, list string, done func(change string, object T) bool) error {
	query := "?watch=1"
	if strings.Contains(list, "?") {
		query = "&watch=1"
	}
	for { // the API server ends a watch now and then
		reply, err := n.api.do(ctx, http.MethodGet, list+query, nil)
		if err != nil {
			return err
		}
		found, err := readWatch(reply, done)
		if found {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("watch %s: %w", list, err)
		}
	}
}

func readWatch[T any](from io.ReadCloser, done func(string, T) bool) (bool, error) {
	defer from.Close()
	for dec := json.NewDecoder(from); ; {
		var event struct {
			Type   string `json:"type"`
			Object T      `json:"object"`
		}
		if err := dec.Decode(&event); err != nil {
			return false, err
		}
		if done(event.Type, event.Object) {
			return true, nil
		}
	}
}

// AwaitAPI returns when the API server is ready for requests.
func (n *Node) AwaitAPI(ctx context.Context) error {
	return n.retry(ctx, "the API server is not ready", func() error { return n.Call(ctx, http.MethodGet, "/readyz", nil, nil) })
}

// AwaitReady returns when the node runs pods.
func (n *Node) AwaitReady(ctx context.Context) error {
	type node struct {
		Metadata struct{ Name string }
		Status   struct {
			Conditions []struct{ Type, Status string }
		}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := Watch(ctx, n, "/api/v1/nodes", func(_ string, o node) bool {
		for _, c := range o.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				return o.Metadata.Name == Name
			}
		}
		return false
	})
	if err != nil {
		return n.explain(fmt.Errorf("the node is not ready: %w", err))
	}
	return nil
}

// awaitDefaultAccount returns when pods can be created in the default namespace.
func (n *Node) awaitDefaultAccount(ctx context.Context) error {
	type account struct{ Metadata struct{ Name string } }
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := Watch(ctx, n, "/api/v1/namespaces/default/serviceaccounts", func(_ string, o account) bool { return o.Metadata.Name == "default" })
	if err != nil {
		return n.explain(fmt.Errorf("no default service account: %w", err))
	}
	return nil
}

func (n *Node) awaitContainerd(ctx context.Context) error {
	return n.retry(ctx, "containerd does not answer", func() error {
		if _, err := os.Stat(n.socket()); err != nil {
			return err
		}
		_, err := output(ctx, "", "ctr", "--address", n.socket(), "version")
		return err
	})
}

// patience is how long a step of the start may take.
const patience = 2 * time.Minute

// retry calls try until it succeeds: for what cannot be watched.
func (n *Node) retry(ctx context.Context, what string, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ticks.C:
		case <-ctx.Done():
			return n.explain(fmt.Errorf("%s: %w", what, err))
		}
	}
}
