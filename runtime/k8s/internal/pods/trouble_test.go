//go:build k8s

package pods

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func warning(uid types.UID, reason, message string) *corev1.Event {
	return &corev1.Event{InvolvedObject: corev1.ObjectReference{UID: uid}, Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}

// The first event that says so is trouble, also after a watch that was cut; events of other
// pods, and those of what passes by itself, are not.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, watches := fake.NewClientset(), make(chan *watch.FakeWatcher)
		c.PrependWatchReactor("events", func(a clienttesting.Action) (bool, watch.Interface, error) {
			if s := a.(clienttesting.WatchActionImpl).ListOptions.FieldSelector; !strings.Contains(s, "involvedObject.uid=u1") {
				t.Errorf("it selects %q", s)
			}
			w := watch.NewFake()
			watches <- w
			return true, w, nil
		})
		got := make(chan string)
		go func() {
			got <- Trouble(t.Context(), c, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", UID: "u1"}}).Error()
		}()
		w := <-watches
		w.Add(warning("u2", "Failed", `Failed to pull image "x": no such host`))
		w.Add(warning("u1", "FailedScheduling", "0/1 nodes"))
		w.Stop()
		w = <-watches
		w.Add(warning("u1", "Failed", `Failed to pull image "y": not found`))
		if text := <-got; text != `the pod does not start: ErrImagePull: Failed to pull image "y": not found` {
			t.Error(text)
		}
	})
}

// Without the permission, and at the end of the context, nothing is known.
func TestTroubleUnknown(t *testing.T) {
	for _, err := range []error{apierrors.NewForbidden(podResource.GroupResource(), "", errors.New("no")), errors.New("connection refused")} {
		synctest.Test(t, func(t *testing.T) {
			c := fake.NewClientset()
			c.PrependWatchReactor("events", func(clienttesting.Action) (bool, watch.Interface, error) { return true, nil, err })
			c.PrependReactor("list", "events", func(clienttesting.Action) (bool, apiruntime.Object, error) { return true, nil, err })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if got := Trouble(ctx, c, &corev1.Pod{}); got != nil {
				t.Error(got)
			}
			if apierrors.IsForbidden(err) != (ctx.Err() == nil) {
				t.Errorf("%v: %v", err, ctx.Err())
			}
		})
	}
}
