//go:build k8s

package k8s

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
)

func TestSameHost(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "ann/1", true},
		{"ann", "ann", true},
		{"ann", "bob", false},
		{"ann/1", "bob/1", true}, // it was renamed
		{"ann/1", "ann/2", false},
		{"ann/1", "ann", true},
		{"ann/1", "bob", false},
	} {
		if sameHost(c.a, c.b) != c.want || sameHost(c.b, c.a) != c.want {
			t.Errorf("%q and %q: not %v", c.a, c.b, c.want)
		}
	}
}

// While a pod belongs to the controller of another machine, nothing of the city is known
// here, and nothing is done; then it is as ever.
func TestElsewhere(t *testing.T) {
	pod := fakePod("a", corev1.PodRunning)
	pod.Annotations[names.AnnotationHost] = "bob/2"
	c := newFake(t)
	c.p.o.Host = "ann/1"
	created, err := c.CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	becomes := func(found bool) (err error) {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); <-tick.C {
			_, err = c.p.ListRunning(t.Context(), "")
			if e := new(Elsewhere); errors.As(err, &e) == found {
				return err
			}
		}
		t.Fatalf("elsewhere is not %v: %v", found, err)
		return nil
	}
	err = becomes(true)
	if want := "cannot reach the session backend: the city's pods belong to its controller on bob"; !errors.Is(err, runtime.ErrBackendUnreachable) || err.Error() != "list sessions: "+want {
		t.Error(err)
	}
	for what, call := range map[string]func() error{
		"IsRunning": func() error { _, err := c.p.IsRunning(t.Context(), "b"); return err },
		"Start":     func() error { return c.p.Start(t.Context(), "b", runtime.Config{Command: "cat"}) },
		"Stop":      func() error { return c.p.Stop(t.Context(), "a") },
		"Peek":      func() error { _, err := c.p.Peek(t.Context(), "a", 1); return err },
		"Teardown":  func() error { return c.p.TeardownServer(t.Context()) },
	} {
		if e := new(Elsewhere); !errors.As(call(), &e) {
			t.Errorf("%s: %v", what, call())
		}
	}
	if held, _ := c.p.Held(); len(held) > 0 {
		t.Errorf("held: %v", held)
	}
	c.becomes(t, "a")

	created.Annotations[names.AnnotationHost] = "ann2/1"
	if _, err := c.CoreV1().Pods("ns").Update(t.Context(), created, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := becomes(false); err != nil {
		t.Error(err)
	}
}
