//go:build k8s

package k8s

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/internal/link"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/internal/podstate"
	"gascity.dev/gc/runtime/k8s/settings"
)

// replaced reports whether a pod counts for nobody although something may run in it: its node
// is lost and the settings say so, or whoever started it has ended before there was a
// session. The next start of its session replaces it.
func (p *Provider) replaced(pod *corev1.Pod) bool {
	return p.lost(pod) && p.replacesLost(pod) && time.Since(p.pods.Again()) > nodeNews || !podstate.Started(pod) && (p.wasReleased(pod) || abandoned(pod))
}

func (p *Provider) wasReleased(pod *corev1.Pod) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.released[pod.UID]
}

// replacesLost reports whether the agent of a pod gets another one when its node is lost.
func (p *Provider) replacesLost(pod *corev1.Pod) bool {
	return cmp.Or(pod.Annotations[names.AnnotationNodeLoss], p.o.Cluster.NodeLoss) == settings.NodeLossReplace
}

// nodeNews is how long a node may take to say that it is there after the API server was away:
// until then its pods are unknown, and not replaced.
const nodeNews = time.Minute

// lost reports whether the node of a pod does not answer, and nor does its multiplexer: a
// node that could not report for a while, as when the API server was away, is not lost.
func (p *Provider) lost(pod *corev1.Pod) bool {
	if !podstate.Lost(pod) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.boxes[pod.UID]
	return b == nil || b.link.State().Is != link.Up
}

func lost(pod *corev1.Pod) error {
	return fmt.Errorf("%w: node %s of pod %s does not answer", runtime.ErrBackendUnreachable, pod.Spec.NodeName, pod.Name)
}

// lostExit is how a session ended that is replaced because its node is lost.
func lostExit(pod *corev1.Pod) *runtime.Exit {
	return &runtime.Exit{Code: -1, Reason: "node " + pod.Spec.NodeName + " does not answer", Time: time.Now(), Disrupted: true}
}

// starter identifies this process among all that start pods: boot of the machine, namespace
// of processes, number and start time. "" if the system does not say.
var starter = sync.OnceValue(func() string {
	boot := clock.Boot()
	space, err := os.Readlink(processes)
	if err != nil || boot == "" {
		return ""
	}
	self, err := proctree.Get(os.Getpid())
	if err != nil {
		return ""
	}
	return strings.Join([]string{boot, space, strconv.Itoa(self.PID), strconv.FormatUint(self.Start, 10)}, " ")
})

// processes names the namespace in which a process has its number.
const processes = "/proc/self/ns/pid"

// abandoned reports whether a pod has no session yet and never will: whoever started it was
// a process of this machine and has ended. Of other machines nothing is known; there the
// pod ends by itself when it is left alone, see aloneLimit.
func abandoned(pod *corev1.Pod) bool {
	theirs, ours := strings.Fields(pod.Annotations[names.AnnotationStarter]), strings.Fields(starter())
	if len(theirs) != 4 || len(ours) != 4 || theirs[0] != ours[0] || theirs[1] != ours[1] {
		return false
	}
	pid, err := strconv.Atoi(theirs[2])
	if err != nil {
		return false
	}
	start, err := strconv.ParseUint(theirs[3], 10, 64)
	return err == nil && !proctree.Proc{PID: pid, Start: start}.Alive()
}
