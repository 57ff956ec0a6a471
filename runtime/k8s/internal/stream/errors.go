//go:build k8s

package stream

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// Why a command was not run in a pod, or its stream ended. An error that matches none
// of them is a stream that was cut or a cluster that was not reached.
var (
	ErrForbidden  = errors.New("the cluster forbids commands in pods")
	ErrPodGone    = errors.New("the pod does not exist")
	ErrNotRunning = errors.New("the pod's container does not run")
	ErrCommand    = errors.New("the command cannot run in the pod") // it is not there, or it failed
	ErrRefused    = errors.New("the cluster refused the stream")    // for another reason
)

// Error is why a stream ended or was not opened. It matches one of the errors of this
// package, unless the stream was cut.
type Error struct {
	Pod  string // namespace/name
	Kind error  // nil: cut
	Said string // the last line that the command wrote to standard error
	Err  error
}

// Error is one line.
func (e *Error) Error() string {
	text := "pod " + e.Pod + ": " + oneLine(strings.TrimPrefix(e.Err.Error(), "unable to upgrade streaming request: "))
	if e.Said != "" {
		text += ": " + e.Said
	}
	return text
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Err}
	}
	return []error{e.Kind, e.Err}
}

// Hint is the next step, or "".
func (e *Error) Hint() string {
	if errors.Is(e.Kind, ErrForbidden) {
		return "a Role must allow get and create of pods/exec; gc doctor k8s names what is missing"
	}
	return ""
}

// statusOf returns the status that the API server answered with, nil if it did not.
func statusOf(err error) error {
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) {
		err = upgrade.Cause // which it does not unwrap
	}
	var status *apierrors.StatusError
	if errors.As(err, &status) {
		return status
	}
	return nil
}

// final reports whether another protocol would be refused, too.
func final(err error) bool {
	status := statusOf(err)
	return status != nil && (apierrors.IsNotFound(status) || apierrors.IsUnauthorized(status) ||
		apierrors.IsTooManyRequests(status) || apierrors.IsServiceUnavailable(status))
}

// upgradeRefused reports whether a stream of SPDY did not begin.
func upgradeRefused(err error) bool {
	return statusOf(err) != nil || httpstream.IsUpgradeFailure(err) || strings.HasPrefix(err.Error(), "unable to upgrade connection")
}

// kindOf classifies an error. What the kubelet and the container runtime report arrives
// as text only, and so does every refusal of SPDY.
func kindOf(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range joined.Unwrap() {
			if kind := kindOf(one); kind != nil && kind != ErrRefused {
				return kind
			}
		}
	}
	if exit := exec.CodeExitError(exec.CodeExitError{}); errors.As(err, &exit) {
		return ErrCommand
	}
	status := statusOf(err)
	switch text := err.Error(); {
	case apierrors.IsForbidden(status), apierrors.IsUnauthorized(status),
		strings.Contains(text, "is forbidden: ") && strings.Contains(text, "pods/exec"):
		return ErrForbidden
	case apierrors.IsNotFound(status), strings.Contains(text, "pod does not exist"):
		return ErrPodGone
	case strings.Contains(text, "container not found"), strings.Contains(text, "current phase is"),
		strings.Contains(text, "is not created or running"), strings.Contains(text, "container is in CONTAINER_EXITED state"),
		strings.Contains(text, "does not have a host assigned"):
		return ErrNotRunning
	case strings.Contains(text, "unable to start container process"), strings.Contains(text, "failed to exec in container"),
		strings.Contains(text, "OCI runtime exec failed"):
		return ErrCommand
	case status != nil, upgradeRefused(err):
		return ErrRefused
	}
	return nil
}
