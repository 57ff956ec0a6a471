// Package k8s is the runtime provider whose sessions are pods of a Kubernetes cluster.
//
// A pod runs gc's own multiplexer with one session (`gc pod-run`). The provider is the
// pod's life: it creates, watches and deletes pods. All else is runtime/native over one held
// stream to each pod, which a command in the pod carries (`gc mux dial --many`). Its
// invariant: what the cluster did not say is unknown, never "not running"; and no two pods
// of a session run at once, unless the city's settings allow it for a lost node.
//
// Its code requires the build tag k8s: gc does not link it, gc-k8s does. Only
// cmd/gc/internal/backend makes a provider.
package k8s
