package transcript

// SetMaxFile sets the size at which the files take turns, and returns the old one.
func SetMaxFile(n int64) (old int64) {
	old, maxFile = maxFile, n
	return old
}
