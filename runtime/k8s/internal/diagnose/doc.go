// Package diagnose finds what keeps a city's pods from running: an address that does not
// answer, a namespace that is not there, a permission that is missing, an image that cannot
// be pulled. It changes nothing but for one pod, which it starts and deletes. runtime/k8s
// calls it, for gc doctor k8s.
//
// Its code requires the build tag k8s, as everything that links a k8s.io module.
package diagnose
