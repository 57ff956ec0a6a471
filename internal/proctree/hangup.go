package proctree

import (
	"context"
	"slices"
	"syscall"
	"time"
)

// The first and the longest pause between two hang-ups; the pauses double.
const (
	hangUpFirst = 50 * time.Millisecond
	hangUpMost  = 2 * time.Second
)

// hangUp sends HUP, as a closing terminal does, to the members that ignore
// TERM: interactive shells do, and would end only by KILL after the whole grace
// period. It spares a process that handles TERM.
//
// Once is not enough: a shell that receives the signal between its prompt and
// waiting for a key still waits (seen with bash 5.2), since here, unlike on a
// closed terminal, its next read does not fail; and a shell just started does
// not ignore TERM yet. So hangUp repeats until ctx ends or no member is left.
func hangUp(ctx context.Context, members []Proc) {
	for pause := hangUpFirst; ; pause = min(2*pause, hangUpMost) {
		members = slices.DeleteFunc(members, func(p Proc) bool { return !p.Alive() })
		for _, p := range members {
			if ignoresTerm(p) && p.same() {
				_ = syscall.Kill(p.PID, syscall.SIGHUP) // it may have ended already
			}
		}
		if len(members) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}
