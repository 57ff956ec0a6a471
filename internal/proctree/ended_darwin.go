package proctree

import "context"

// toldEnd leaves it to looking: a kqueue for each process would hold a thread.
func toldEnd(context.Context, Proc) (told bool, err error) { return false, nil }
