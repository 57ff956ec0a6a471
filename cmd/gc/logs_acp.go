package main

import (
	"context"
	"errors"
	"fmt"

	"gascity.dev/gc/cmd/gc/internal/acplog"
	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/runtime"
)

// transcripts is a provider that reads the transcripts of its sessions.
type transcripts interface {
	Entries(ctx context.Context, session string, after int64, f func(transcript.Entry) error) error
}

// transcriptOf returns the transcript of an agent over ACP, nil for another agent.
func (a *app) transcriptOf(ctx context.Context, t *target, o logsOptions) (*acplog.Log, error) {
	city, err := a.city.dir()
	if err != nil {
		return nil, nil // without a city there is none
	}
	_, ok, err := runtime.AsFor[runtime.TurnProvider](ctx, t.provider, t.session)
	if (err == nil || errors.Is(err, runtime.ErrSessionNotFound)) && t.spec != nil && t.spec.OverACP() {
		ok, err = true, nil // its transcript outlives it
	}
	if err != nil || !ok {
		return nil, err
	}
	dir, err := backend.ACPDir(city, t.session)
	if err != nil {
		return nil, err
	}
	l := &acplog.Log{Dir: dir, JSON: o.json}
	if t.spec != nil && t.spec.OverACP() && t.spec.Host() != "" {
		there, err := a.providers.New(backend.Choice{Name: t.spec.HostedBy(t.spec.Resolved.Session), Origin: "session of agent " + t.spec.Name()}, city)
		if err != nil {
			return nil, err
		}
		p, ok := runtime.As[transcripts](there)
		if !ok {
			return nil, nil
		}
		l.There = func(after int64, f func(transcript.Entry) error) error { return p.Entries(ctx, t.session, after, f) }
	}
	if !l.Exists() {
		return nil, nil
	}
	return l, nil
}

// printTranscript prints, and follows, a transcript.
func (a *app) printTranscript(ctx context.Context, t *target, l *acplog.Log, o logsOptions, print func(string) error) error {
	defer l.Close()
	if err := l.Past(o.lines, print); err != nil || !o.follow {
		return err
	}
	return l.Follow(ctx, func(ctx context.Context) (bool, error) {
		running, err := t.provider.IsRunning(ctx, t.session)
		if err != nil && !errors.Is(err, runtime.ErrSessionNotFound) {
			return false, err
		}
		return !running, nil
	}, print)
}

// oneTranscript prints the transcript of one agent.
func (a *app) oneTranscript(ctx context.Context, t *target, l *acplog.Log, o logsOptions) error {
	err := a.printTranscript(ctx, t, l, o, func(line string) error {
		_, err := fmt.Fprintln(a.Out, line)
		return err
	})
	if ctx.Err() != nil {
		return followEnd(ctx)
	}
	return err
}

// printWire prints the messages that were kept of an agent.
func (a *app) printWire(t *target, o logsOptions) error {
	if o.follow || o.json || o.lines > 0 {
		return cli.Fail(cli.ExitUsage, "gc logs AGENT --wire | tail -n 20", "--wire goes with no other option")
	}
	if t.spec != nil && t.spec.Host() != "" {
		return cli.Fail(cli.ExitUnsupported, "read it there, in the folder gc/acp of the state directory", "%s: its messages are kept on %s", display.Line(t.label), t.spec.Host())
	}
	dir, err := a.city.dir()
	if err == nil {
		dir, err = backend.ACPDir(dir, t.session)
	}
	if err != nil {
		return err
	}
	found, err := transcript.ReadWire(dir, func(line []byte) error {
		_, err := fmt.Fprintf(a.Out, "%s\n", line)
		return err
	})
	if err == nil && !found {
		return cli.Fail(cli.ExitNotFound, "record = true in [agents.acp] keeps them from the next start on", "%s: no messages were kept", display.Line(t.label))
	}
	return err
}

// errNoTranscript is the error of logs --json for an agent on a terminal.
func errNoTranscript(t *target) error {
	return cli.Fail(cli.ExitUnsupported, "gc peek --json reads its screen", "%s has no transcript: it is not an agent over ACP", display.Line(t.label))
}
