// Package registry sends an image to a container registry, by the protocol of the OCI
// distribution specification and with the credentials of docker login.
//
// Its invariant: the digest in the registry is that of the archive. It makes no images; that is
// internal/image. gc image push calls it.
//
// Its code requires the build tag k8s: gc does not link it, gc-k8s does.
package registry
