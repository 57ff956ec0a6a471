package mux

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/proctree"
)

// The first pause before those that ignored TERM are hung up on again, and the
// longest: each is twice the one before.
const (
	hangUpFirst = 50 * time.Millisecond
	hangUpMost  = 2 * time.Second
)

// hangUp sends HUP, as a terminal that closes does, to the members that ignore
// TERM: interactive shells do, and would only end by KILL after the whole grace
// period. A process that handles TERM in its own way is left alone.
//
// Once is not enough. A closed terminal is also at its end for whoever reads it;
// this one is not, and a shell that notes the signal between its prompt and its
// wait for a key waits all the same (seen with bash 5.2). And a shell that has
// just been started does not ignore TERM yet. So they are looked at again until
// ctx ends or none of them is left.
func hangUp(ctx context.Context, members []proctree.Proc) {
	for pause := hangUpFirst; ; pause = min(2*pause, hangUpMost) {
		members = slices.DeleteFunc(members, func(p proctree.Proc) bool { return !p.Alive() })
		for _, p := range members {
			if ignoresTerm(p) && p.Same() {
				_ = unix.Kill(p.PID, unix.SIGHUP)
			}
		}
		if len(members) == 0 || sleep(ctx, pause) != nil {
			return
		}
	}
}
