package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"gascity.dev/gc/cmd/gc/internal/citylog"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/cmd/gc/internal/report"
	"gascity.dev/gc/internal/agent"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/runtime"
)

// foreground runs the city in this process until it is stopped or --until is
// reached.
func (s *starting) foreground(ctx context.Context) error {
	result := runResult{}
	opts, o := s.opts, s.o
	opts.Until, opts.Timeout, opts.StopOnCancel = controller.Until(o.until), o.timeout, true
	opts.BlockedTimeout, opts.FailOnBlocked = o.blockedTimeout, o.failOn == "blocked"
	opts.Ready = func(status cityapi.Status) {
		if result.status = status; !o.quiet {
			report.Unchecked(&s.app.Console, status)
		}
	}
	stream := citylog.New(s.output(), s.city.Name(), opts.Provider)
	opts.Finished = func(ctx context.Context, status cityapi.Status) error {
		stream.Finish(ctx)
		result = runResult{status, lastLines(ctx, s.app.providers, status), time.Now()}
		return nil
	}
	kill, stop := onSecondInterrupt()
	defer stop()
	opts.Kill = kill
	if o.artifacts != "" {
		opts.Artifacts, opts.Build.Record, opts.Record = o.artifacts, true, recorder(opts.Provider)
	}
	if !o.quiet {
		opts.Log, opts.Event = s.app.Err, stream.Take
	}
	after := context.WithoutCancel(ctx) // to print the stop of the city, too
	stream.Run(after)
	err := controller.Run(ctx, opts)
	if n := stream.Close(after); n > 0 {
		s.app.Warn("%s could not be printed in time: gc events shows them", display.Count(n, "event"))
	}
	if result.at.IsZero() { // stopped by the user, or never ran
		return err
	}
	return errors.Join(result.print(&s.app.Console, o.json), result.failure(&s.app.Console, err))
}

// output returns the output of the city.
func (s *starting) output() *display.Merged {
	names := append([]string{s.city.Name()}, templateNames(s.city)...)
	out := display.NewMerged(s.app.Out, s.app.Colours(s.app.Out), names...)
	out.JSON = s.o.json
	return out
}

// onSecondInterrupt returns a channel that is closed at the second SIGINT or
// SIGTERM; the first stops the city: see graceful.
func onSecondInterrupt() (second <-chan struct{}, stop func()) {
	signals, over, closed := make(chan os.Signal, 2), make(chan struct{}), make(chan struct{})
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for range 2 {
			select {
			case <-signals:
			case <-over:
				return
			}
		}
		close(closed)
	}()
	return closed, func() { signal.Stop(signals); close(over) }
}

// recorder returns a Recorder that reads recordings from the muxes behind p.
func recorder(p runtime.Provider) controller.Recorder {
	return func(ctx context.Context, session string, w io.Writer) error {
		c, err := sessionClient(ctx, &target{label: session, session: session, provider: p}, "recording")
		if err != nil {
			return err
		}
		err = c.Recording(ctx, session, api.RecordingASCIICast, w)
		switch {
		case errors.Is(err, api.ErrRequest): // an agent that ran before
			return fmt.Errorf("recording of %s: %w", session, runtime.ErrUnsupported)
		case errors.Is(err, api.ErrNotFound):
			return fmt.Errorf("recording of %s: %w", session, runtime.ErrSessionNotFound)
		}
		return err
	}
}

// hasOneShot reports whether the city has an agent that ends by itself.
func hasOneShot(city *config.City) bool {
	specs, err := templates(city)
	return err != nil || slices.ContainsFunc(specs, func(s *agent.Spec) bool { return s.Config.Lifecycle == runtime.OneShot })
}

// runResult is the result of a run with --until.
type runResult struct {
	status cityapi.Status
	last   map[string]string // the last line of each session
	at     time.Time
}

// resultLine is the last line of gc start --foreground --until … --json.
type resultLine struct {
	Time   time.Time      `json:"time"`
	Kind   string         `json:"kind"` // "result"
	Status cityapi.Status `json:"status"`
}

// print prints the result of every agent, as it was before the city was stopped.
func (r *runResult) print(c *cli.Console, asJSON bool) error {
	if asJSON {
		return display.NewMergedJSON(c.Out).Object(resultLine{time.Now().UTC(), "result", r.status})
	}
	return report.Results(c, r.status, r.last, r.at)
}

// failure is the error of the run, with an explanation of what failed; err is the
// controller's.
func (r *runResult) failure(c *cli.Console, err error) error {
	var failed *controller.FailedError
	var blocked *controller.BlockedError
	switch {
	case errors.Is(err, cityapi.ErrTimeout):
		return cli.Fail(cli.ExitTimeout, "", "%w", err)
	case errors.As(err, &blocked):
		return agentBlocked(c, blocked)
	case errors.As(err, &failed):
		return r.agentFailed(c, failed)
	case err != nil:
		return err
	}
	return report.Problems(c, r.status)
}

// agentFailed returns the exit status of the agent that failed first, and explains
// the failure.
func (r *runResult) agentFailed(c *cli.Console, failed *controller.FailedError) error {
	for _, ag := range r.status.Agents {
		if ag.Name == failed.Agent {
			ag.Hint = cmp.Or(ag.Hint, "gc start runs it again")
			report.Problem(c, ag)
		}
	}
	if failed.Code < 1 || failed.Code > 255 {
		return cli.Quiet(cli.ExitFailure)
	}
	return cli.Quiet(failed.Code)
}

// agentBlocked prints the unanswered question and returns the error.
func agentBlocked(c *cli.Console, b *controller.BlockedError) error {
	if q := b.Activity.Pending; q != nil {
		fmt.Fprint(c.Err, questionText(q))
	}
	return cli.Fail(cli.ExitFailure, `permissions in city.toml decide what agents do without asking; --blocked-timeout leaves time for gc respond `+shell.Word(b.Agent), "%w", b)
}
