//go:build k8s

package pods

import (
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gascity.dev/gc/runtime"
)

// Refusal is why the API server does not make a pod. It matches runtime.ErrBackendBusy if
// another attempt may succeed without a change of the city.
type Refusal struct {
	err  error
	hint string
	busy bool
}

// Error is one line: a webhook may answer with several.
func (r *Refusal) Error() string {
	text := strings.Join(strings.Fields(r.err.Error()), " ")
	if r.busy {
		return runtime.ErrBackendBusy.Error() + ": " + text
	}
	return text
}

// Hint is the next step.
func (r *Refusal) Hint() string { return r.hint }

// Unwrap returns the answer of the API server.
func (r *Refusal) Unwrap() error { return r.err }

// Is makes errors.Is(err, runtime.ErrBackendBusy) true for one that may pass.
func (r *Refusal) Is(target error) bool { return r.busy && target == runtime.ErrBackendBusy }

// refusals lists the kinds of refusals, by the text of the error where nothing else differs.
var refusals = []struct {
	is   func(error) bool
	hint string
	busy bool
}{
	{says("admission webhook", "denied the request"), "the cluster has a rule against this pod: ask its administrators, or change [session.k8s]", true},
	{says("failed calling webhook"), "an admission webhook of the cluster does not work: ask its administrators", true},
	{
		func(err error) bool { return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) },
		"wait until the namespace is gone and create it anew, or set another one in [session.k8s]", true,
	},
	{says("exceeded quota"), "stop other agents, lower requests and limits in [session.k8s], or raise the quota of the namespace", true},
	{says("violates PodSecurity"), "change what pod_overlay adds, or the Pod Security level of the namespace", false},
	{says("is forbidden: User"), "gc doctor k8s lists the missing permissions", false},
	{apierrors.IsForbidden, "the namespace has a limit against this pod: change requests and limits in [session.k8s]", false},
	{apierrors.IsInvalid, "change [session.k8s], or what pod_overlay adds", false},
}

func says(words ...string) func(error) bool {
	return func(err error) bool {
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				return false
			}
		}
		return true
	}
}

// refused returns why the API server made no pod; nil if it gave no such answer.
func refused(err error) *Refusal {
	var status apierrors.APIStatus
	if !errors.As(err, &status) { // it did not answer
		return nil
	}
	for _, r := range refusals {
		if r.is(err) {
			return &Refusal{err, r.hint, r.busy}
		}
	}
	return nil
}
