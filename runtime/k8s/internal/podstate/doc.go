// Package podstate reads from a pod what its session is doing and how it ended.
// Pure. Its invariant: a pod of which the cluster has not said that it ended has
// no exit. runtime/k8s and its parts call it.
//
// Its code requires the build tag k8s, as everything that links a k8s.io module.
package podstate
