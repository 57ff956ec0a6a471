//go:build !k8s

package self

// IsGC reports whether this process runs gc, not gc-k8s.
const IsGC = true
