//go:build linux

package k8snode

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// Run starts a node for a test and stops it at its end. The context ends after limit, not
// with the test, so that what the test cleans up still reaches the node.
func Run(t testing.TB, limit time.Duration) (*Node, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), limit)
	t.Cleanup(cancel)
	n, err := Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	})
	return n, ctx
}

// Restricted are the labels of a namespace with Pod Security "restricted".
var Restricted = map[string]any{"pod-security.kubernetes.io/enforce": "restricted"}

// Namespace makes a namespace in which pods can be created.
func (n *Node) Namespace(ctx context.Context, name string, labels map[string]any) error {
	type object = map[string]any
	err := n.Call(ctx, http.MethodPost, "/api/v1/namespaces", object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name, "labels": labels},
	}, nil)
	if err != nil {
		return err
	}
	type account struct{ Metadata struct{ Name string } }
	return Watch(ctx, n, "/api/v1/namespaces/"+name+"/serviceaccounts", func(_ string, a account) bool { return a.Metadata.Name == "default" })
}
