//go:build k8s

package pods

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
)

// watchAgain is the pause between attempts to watch events.
const watchAgain = time.Second

// Trouble waits until an event says that this pod will not start. A kubelet sends the event
// at once, and the status of the pod up to 15 s later. nil: ctx has ended, or events may not
// be watched.
func Trouble(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) *podstate.Trouble {
	for ctx.Err() == nil {
		trouble, err := troubleOf(ctx, client, pod)
		if trouble != nil || apierrors.IsForbidden(err) {
			return trouble
		}
		_ = clock.Sleep(ctx, watchAgain) // the loop ends with ctx
	}
	return nil
}

// troubleOf is Trouble for as long as one watch lasts.
func troubleOf(ctx context.Context, client kubernetes.Interface, pod *corev1.Pod) (*podstate.Trouble, error) {
	watch, err := client.CoreV1().Events(pod.Namespace).Watch(ctx, metav1.ListOptions{FieldSelector: Warnings(pod)})
	if err != nil {
		return nil, err
	}
	defer watch.Stop()
	for {
		select {
		case e, open := <-watch.ResultChan():
			if !open {
				return nil, nil
			}
			if event, ok := e.Object.(*corev1.Event); ok && event.InvolvedObject.UID == pod.UID {
				if trouble := podstate.EventTrouble(event); trouble != nil {
					return trouble, nil
				}
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Warnings selects the warnings among the events of this pod.
func Warnings(pod *corev1.Pod) string {
	return fields.AndSelectors(
		fields.OneTermEqualSelector("involvedObject.uid", string(pod.UID)),
		fields.OneTermEqualSelector("type", corev1.EventTypeWarning),
	).String()
}
