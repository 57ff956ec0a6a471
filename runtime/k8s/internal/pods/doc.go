// Package pods creates, watches and deletes the session pods of one city in one
// namespace. Creating a pod is the lock of its session, a delete names the pod's
// UID, and questions are answered from a watch, without a request. Its invariant:
// a watch that has not begun, or was broken for a while, gives no answer instead
// of "no such pod". It never makes a pod's spec. runtime/k8s calls it.
//
// Its code requires the build tag k8s, as everything that links a k8s.io module.
package pods
