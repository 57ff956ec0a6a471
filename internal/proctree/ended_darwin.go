package proctree

import "context"

// waitEnd is not supported, so Ended polls: a kqueue per process would hold a
// thread.
func waitEnd(context.Context, Proc) (reported bool, err error) { return false, nil }
