package proctree

import (
	"context"
	"slices"
	"syscall"
	"time"
)

// The first and the longest pause between two hang-ups; each pause is twice the
// one before.
const (
	hangUpFirst = 50 * time.Millisecond
	hangUpMost  = 2 * time.Second
)

// hangUp sends HUP, as a closing terminal does, to the members that ignore TERM:
// interactive shells do, and would end only by KILL after the whole grace period.
// It leaves alone a process that handles TERM in its own way.
//
// Once is not enough: a shell that notes the signal between its prompt and its
// wait for a key waits all the same (seen with bash 5.2), since here, unlike at a
// closed terminal, its next read does not fail; and a shell that has just been
// started does not ignore TERM yet. So hangUp looks again until ctx ends or
// no member is left.
func hangUp(ctx context.Context, members []Proc) {
	for pause := hangUpFirst; ; pause = min(2*pause, hangUpMost) {
		members = slices.DeleteFunc(members, func(p Proc) bool { return !p.Alive() })
		for _, p := range members {
			if ignoresTerm(p) && p.Same() {
				_ = syscall.Kill(p.PID, syscall.SIGHUP) // it may have ended by now
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
