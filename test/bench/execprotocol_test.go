package bench

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkSessionOp compares one call of gc session-op, the whole process,
// with a hello-world program, the lower bound for any program. A caller makes 4
// to 17 such calls per session every tick.
func BenchmarkSessionOp(b *testing.B) {
	w := newWorld(b)
	w.session("op.op", "echo ready; exec cat", "ready")
	op := func(args ...string) []string { return append([]string{w.gc, "session-op"}, args...) }
	floor := []string{built(b, "hello")}
	calls := []struct {
		name, stdin string
		argv        []string
	}{
		{"hello", "", floor},
		{"is-running", "", op("is-running", "op")},
		{"process-alive", "cat", op("process-alive", "op")},
		{"list-running", "", op("list-running", "")},
		{"get-meta", "", op("get-meta", "op", "KEY")},
		{"set-meta", "value", op("set-meta", "op", "KEY")},
		{"peek 120", "", op("peek", "op", "120")},
		{"get-last-activity", "", op("get-last-activity", "op")},
		{"is-attached", "", op("is-attached", "op")},
		{"send-keys", "", op("send-keys", "op", "x")},
		{"protocol", "", op("protocol")},
	}
	list := make([]*samples, len(calls))
	for i, c := range calls {
		list[i] = &samples{name: c.name}
	}
	for range b.N {
		for range rounds {
			for i, c := range calls {
				cmd := w.command(c.argv...)
				cmd.Stdin = strings.NewReader(c.stdin)
				begin := time.Now()
				out, err := cmd.CombinedOutput()
				list[i].add(time.Since(begin))
				if err != nil {
					b.Fatalf("%s: %v %s", c.name, err, out)
				}
			}
		}
	}
	table(b, "one call of gc session-op, whole process", list...)
	for _, s := range list {
		metrics(b, strings.ReplaceAll(s.name, " ", "-"), s)
	}
}
