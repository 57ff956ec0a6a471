// Package podspec makes the pod of a session. Pure: it reads no file and knows
// no cluster. Its invariant: what it makes passes the Pod Security level
// "restricted", holds no secret value, and keeps the fields that gc depends on,
// whatever an overlay says. runtime/k8s calls it.
//
// Its code requires the build tag k8s, as everything that links a k8s.io module.
package podspec
