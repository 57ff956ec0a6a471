package main

import (
	"context"
	"errors"
	"sync"

	"gascity.dev/gc/cmd/gc/internal/display"
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
	out := display.NewMerged(a.out, a.colours(a.out), names...)
	var followed sync.WaitGroup
	ends := make([]error, len(targets))
	for i, t := range targets {
		f, res, err := a.logsOf(ctx, out, t, o)
		if err == nil && f != nil {
			followed.Go(func() {
				exit, err := f.run(ctx, res)
				if err == nil && exit != nil {
					err = out.Note(t.label, "ended: "+exitText(runtimeExit(exit)), display.Dim)
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
func (a *app) logsOf(ctx context.Context, out *display.Merged, t *target, o logsOptions) (*follower, mux.PeekResult, error) {
	var res mux.PeekResult
	show := func(line string) error { return out.Output(t.label, line) }
	f := &follower{print: show, say: func(text string) { _ = out.Note(t.label, text, display.Dim) }}
	muxed, err := inMux(ctx, t)
	if err != nil {
		return nil, res, err
	}
	if !muxed && o.follow {
		return nil, res, fail(exitUnsupported, followHint(t), "%s: logs -f: its provider does not tell when something was printed", display.Line(t.label))
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
	return nil, res, out.Note(t.label, "ended: "+exitText(runtimeExit(res.Exit)), display.Dim)
}
