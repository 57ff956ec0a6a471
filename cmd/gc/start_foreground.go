package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	"gascity.dev/gc/runtime"
)

// runHere runs the controller in this process.
func (a *app) runHere(ctx context.Context, opts controller.Options, o startOptions) error {
	var last cityapi.Status
	opts.Once = o.once
	opts.Ready = func(s cityapi.Status) { last = s }
	if o.foreground {
		return a.runForeground(ctx, opts, o)
	}
	if err := controller.Run(ctx, opts); err != nil {
		return err
	}
	return a.showStarted(ctx, last)
}

// runForeground runs the city until it is stopped or --until is reached.
func (a *app) runForeground(ctx context.Context, opts controller.Options, o startOptions) error {
	result := runResult{}
	opts.Until, opts.Timeout, opts.StopOnCancel = controller.Until(o.until), o.timeout, true
	opts.BlockedTimeout, opts.FailOnBlocked = o.blockedTimeout, o.failOn == "blocked"
	opts.Ready = func(s cityapi.Status) {
		if result.status = s; !o.quiet {
			report.Unchecked(&a.Console, s)
		}
	}
	stream := citylog.New(a.cityOutput(opts.City, o.json), opts.City.Name(), opts.Provider)
	opts.Finished = func(ctx context.Context, s cityapi.Status) error {
		stream.Finish(ctx)
		result = runResult{s, lastLines(ctx, a.providers, s), time.Now()}
		return nil
	}
	kill, stop := onSecondInterrupt()
	defer stop()
	opts.Kill = kill
	if o.artifacts != "" {
		opts.Artifacts, opts.Build.Record, opts.Record = o.artifacts, true, recorder(opts.Provider)
	}
	if !o.quiet {
		opts.Log, opts.Event = a.Err, stream.Take
	}
	after := context.WithoutCancel(ctx) // to print the stop of the city, too
	stream.Run(after)
	err := controller.Run(ctx, opts)
	if n := stream.Close(after); n > 0 {
		a.Warn("%s could not be printed in time: gc events shows them", display.Count(n, "event"))
	}
	if result.at.IsZero() { // stopped by the user, or never ran
		return err
	}
	return errors.Join(a.printResult(result, o.json), a.runFailed(result.status, err))
}

// cityOutput returns the output of a city in the foreground.
func (a *app) cityOutput(city *config.City, asJSON bool) *display.Merged {
	names := []string{city.Name()}
	for i := range city.Agents {
		names = append(names, city.Agents[i].QualifiedName())
	}
	out := display.NewMerged(a.Out, a.Colours(a.Out), names...)
	out.JSON = asJSON
	return out
}

// runFailed is the error of a run.
func (a *app) runFailed(s cityapi.Status, err error) error {
	var failed *controller.FailedError
	var blocked *controller.BlockedError
	switch {
	case errors.Is(err, cityapi.ErrTimeout):
		return cli.Fail(cli.ExitTimeout, "", "%w", err)
	case errors.As(err, &blocked):
		return a.blockedAgent(blocked)
	case errors.As(err, &failed):
		return a.failedAgent(s, failed)
	case err != nil:
		return err
	}
	return report.Problems(&a.Console, s)
}

// failedAgent returns the exit status of the agent that failed first, and explains
// the failure.
func (a *app) failedAgent(s cityapi.Status, failed *controller.FailedError) error {
	for _, ag := range s.Agents {
		if ag.Name == failed.Agent {
			ag.Hint = cmp.Or(ag.Hint, "gc start runs it again")
			report.Problem(&a.Console, ag)
		}
	}
	if failed.Code < 1 || failed.Code > 255 {
		return cli.Quiet(cli.ExitFailure)
	}
	return cli.Quiet(failed.Code)
}

// blockedAgent prints the unanswered question and returns the error.
func (a *app) blockedAgent(b *controller.BlockedError) error {
	if q := b.Activity.Pending; q != nil {
		fmt.Fprint(a.Err, questionText(q))
	}
	return cli.Fail(cli.ExitFailure, `permissions in city.toml decide what agents do without asking; --blocked-timeout leaves time for gc respond `+shell.Word(b.Agent), "%w", b)
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

// printResult prints the result of every agent, as it was before the city was
// stopped.
func (a *app) printResult(r runResult, asJSON bool) error {
	if asJSON {
		return display.NewMergedJSON(a.Out).Object(resultLine{time.Now().UTC(), "result", r.status})
	}
	return report.Results(&a.Console, r.status, r.last, r.at)
}
