// Package podstate reads from a pod what its session is doing and how it ended.
// It is pure. Its invariant: a pod has no exit until the cluster reports its end.
// runtime/k8s and its parts call it.
//
// Its code requires the build tag k8s, as everything that links a k8s.io module.
package podstate
