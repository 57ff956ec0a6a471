package bench

import (
	"fmt"
	"testing"
	"time"
)

const (
	manyBatch   = 100
	manyBatches = 5
	idleTime    = 5 * time.Second // idle CPU is measured for this long
	restTime    = 8 * time.Second // memory unchanged for this long is stable
)

// BenchmarkMany: the cost of creating 500 sessions of `sleep`, per hundred, and
// their cost while idle.
func BenchmarkMany(b *testing.B) {
	w := newWorld(b)
	w.needTmux()
	w.session("base", "echo up; exec sleep 1000", "up")
	c, t := w.client(), w.control("base")
	server, keeper := w.daemons()
	pid := w.tmuxPID()
	for b.Loop() {
		emptyGC := w.atRest(server, keeper)
		emptyTmux := w.atRest(pid)
		ours, theirs := make([]time.Duration, manyBatches), make([]time.Duration, manyBatches)
		for i := range manyBatches {
			ours[i] = cpu(b, server, keeper)
			for n := range manyBatch {
				w.create(c, fmt.Sprintf("m%d-%d", i, n), "exec sleep 1000")
			}
			ours[i] = (cpu(b, server, keeper) - ours[i]) / manyBatch
			theirs[i] = cpu(b, pid)
			for n := range manyBatch {
				t.ask(fmt.Sprintf("new-session -d -s m%d-%d -x 120 -y 40 'exec sleep 1000'", i, n))
			}
			theirs[i] = (cpu(b, pid) - theirs[i]) / manyBatch
		}
		b.Logf("server CPU of a create, by the hundred\n  gc   %v\n  tmux %v", ours, theirs)
		w.judgeCreates(ours, theirs)
		w.judgeIdle(emptyGC, emptyTmux, server, keeper)
	}
}

// judgeCreates judges the CPU time per create in each hundred.
func (w *world) judgeCreates(ours, theirs []time.Duration) {
	last := manyBatches - 1
	for _, i := range []int{0, last} {
		judge(w.b, target{
			name: fmt.Sprintf("create, server CPU @%d", (i+1)*manyBatch), gc: us(ours[i]), tmux: us(theirs[i]),
			value: ratio(ours[i], theirs[i]), unit: "×", must: 0.5, goal: 0.2,
		})
	}
	judge(w.b, target{ // allow a quarter for noise of a shared machine
		name: fmt.Sprintf("create is flat, @%d ÷ @%d", manyBatches*manyBatch, manyBatch), gc: us(ours[last]) + " ÷ " + us(ours[0]),
		tmux: us(theirs[last]) + " ÷ " + us(theirs[0]), value: ratio(ours[last], ours[0]), unit: "× of itself", must: 1.25,
	})
}

// judgeIdle judges memory and CPU of idle sessions.
func (w *world) judgeIdle(emptyGC, emptyTmux memory, server, keeper int) {
	const sessions = manyBatch * manyBatches
	pid := w.tmuxPID()
	each := func(full, empty memory) float64 { return float64(full.own-empty.own) / sessions / 1e3 }
	ours := each(w.atRest(server, keeper), emptyGC)
	theirs := each(w.atRest(pid), emptyTmux)
	judge(w.b, target{
		name: fmt.Sprintf("memory of an idle session, of %d", sessions), gc: fmt.Sprintf("%.1f kB", ours), tmux: fmt.Sprintf("%.1f kB", theirs),
		value: ours, unit: "kB", must: 9, goal: 5,
	})
	before, beforeTmux := cpu(w.b, server, keeper), cpu(w.b, pid)
	<-time.After(idleTime)
	busy, busyTmux := cpu(w.b, server, keeper)-before, cpu(w.b, pid)-beforeTmux
	percent := func(d time.Duration) float64 { return 100 * ratio(d, idleTime) }
	judge(w.b, target{
		name: fmt.Sprintf("idle CPU, %d sessions", sessions), gc: fmt.Sprintf("%.1f %%", percent(busy)), tmux: fmt.Sprintf("%.1f %%", percent(busyTmux)),
		value: percent(busy), unit: "%", must: 0.05, // 0.0 to one digit
	})
}

// atRest is the memory of processes once it has not changed by more than 16 KiB
// for restTime, or after three times that.
func (w *world) atRest(pids ...int) (m memory) {
	w.b.Helper()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	start, since := time.Now(), time.Now()
	for ; time.Since(since) < restTime && time.Since(start) < 3*restTime; <-poll.C {
		var now memory
		for _, pid := range pids {
			now = now.plus(memoryOf(w.b, pid))
		}
		if d := now.pss - m.pss; d > 16<<10 || d < -16<<10 {
			m, since = now, time.Now()
		}
	}
	return m
}
