// Package pod is what runs beside a session in a container: the process that hosts its
// multiplexer, waits for its end and reports it, and the report itself.
//
// Its invariant: the process ends only when its session has ended for good, cannot be made,
// or is stopped, and the report says which. It knows no cluster: a container's restart
// policy and its pod are the caller's. gc pod-run calls [Run]; runtime/k8s calls [Parse].
package pod
