// Package stream makes a byte stream of a command that the cluster runs in a pod
// (`kubectl exec`): its standard input and output. It speaks WebSocket, and SPDY to
// an API server, or through a proxy, that refuses WebSocket.
//
// Its invariant: Close ends every blocked call, whatever the cluster does, and the end
// of a stream says why it ended. It knows nothing of what the bytes mean and never
// opens a stream again: internal/link does. runtime/k8s calls it.
//
// Its code requires the build tag k8s, as everything that links a k8s.io module.
package stream
