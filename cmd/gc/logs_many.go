package main

import (
	"context"
	"errors"
	"sync"

	"gascity.dev/gc/mux"
)

// runLogsMany prints what several agents printed, each line behind the name of
// its agent, and follows all of them.
func runLogsMany(ctx context.Context, a *app, targets []*target, o logsOptions) error {
	if o.lines < 0 {
		return fail(exitUsage, "", "-n %d: want at least 1", o.lines)
	}
	var names []string
	for _, t := range targets {
		names = append(names, t.label)
	}
	out := newMerged(a.out, a.colours(a.out), names...)
	var followed sync.WaitGroup
	ends := make([]error, len(targets))
	for i, t := range targets {
		f, res, err := a.logsOf(ctx, out, t, o)
		if err == nil && f != nil {
			followed.Go(func() {
				exit, err := f.run(ctx, res)
				if err == nil && exit != nil {
					err = out.note(t.label, "ended: "+exitText(runtimeExit(exit)), dim)
				}
				ends[i] = err
			})
		}
		ends[i] = err
	}
	followed.Wait()
	if ctx.Err() != nil {
		return followEnd(ctx)
	}
	return errors.Join(ends...)
}

// logsOf prints what one of several agents has printed. With -f the follower goes
// on with it, and prints it first; nil: it has ended.
func (a *app) logsOf(ctx context.Context, out *merged, t *target, o logsOptions) (*follower, mux.PeekResult, error) {
	var res mux.PeekResult
	show := func(line string) error { return out.output(t.label, line) }
	f := &follower{print: show, say: func(text string) { _ = out.note(t.label, text, dim) }}
	muxed, err := inMux(ctx, t)
	if err != nil {
		return nil, res, err
	}
	if !muxed && o.follow {
		return nil, res, fail(exitUnsupported, followHint(t), "%s: logs -f: its provider does not tell when something was printed", cleanLine(t.label))
	}
	if !muxed {
		text, err := t.provider.Peek(ctx, t.session, o.lines)
		if err == nil {
			err = f.printAll(text)
		}
		return nil, res, err
	}
	if f.client, err = sessionClient(ctx, t, "logs"); err != nil {
		return nil, res, err
	}
	res, err = f.client.Peek(ctx, mux.PeekRequest{Name: t.session, Lines: o.lines, Join: true})
	if f.id = res.ID; err != nil || o.follow && res.Exit == nil {
		return f, res, err
	}
	if err := f.printAll(res.Text); err != nil || !o.follow {
		return nil, res, err
	}
	return nil, res, out.note(t.label, "ended: "+exitText(runtimeExit(res.Exit)), dim)
}
