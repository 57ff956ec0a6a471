package native

import (
	"context"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

// Messages to a program with a control socket: it gets the blocks, and one message waits
// for the end of a turn as long as its context lets it.

// Times of such a message.
const (
	longPatience = 24 * time.Hour  // without a deadline
	takeBackTime = 3 * time.Second // to learn what became of one whose context ended
)

func blocksOf(content []runtime.ContentBlock) []api.Block {
	out := make([]api.Block, 0, len(content))
	for _, b := range content {
		if b.Type == runtime.BlockFilePath {
			out = append(out, api.Block{Path: b.Path})
		} else {
			out = append(out, api.Block{Text: b.Text})
		}
	}
	return out
}

// patience is how long a message may wait.
func patience(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return longPatience
	}
	return max(time.Until(end), time.Nanosecond)
}

// takeBack finds out what became of a message whose context ended: the server took it
// back, or it was sent.
func (p *Provider) takeBack(ctx context.Context, session, id string) (runtime.Receipt, error) {
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), takeBackTime)
	defer cancel()
	got, err := p.nudgeOnce(short, session, api.NudgeRequest{ID: id, Timeout: time.Nanosecond})
	if err != nil && short.Err() != nil {
		return runtime.Receipt{State: runtime.Unverified, Detail: "the wait for the receipt ended"}, nil
	}
	if err == nil && got.State == runtime.Refused { // it never arrived, or was taken back
		got = runtime.Receipt{State: runtime.Blocked, By: api.ByTurn, Detail: "the agent is working"}
	}
	return got, err
}
