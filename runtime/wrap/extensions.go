package wrap

import (
	"context"
	"errors"
	"time"

	"gascity.dev/gc/runtime"
)

// The optional interfaces about one session.
var (
	_ runtime.ExitReporter           = Forward{}
	_ runtime.Waiter                 = Forward{}
	_ runtime.ProgramWatcher         = Forward{}
	_ runtime.RelaunchProvider       = Forward{}
	_ runtime.IdleWaitProvider       = Forward{}
	_ runtime.ImmediateNudgeProvider = Forward{}
	_ runtime.InterruptNudgeProvider = Forward{}
	_ runtime.ExecProvider           = Forward{}
	_ runtime.StartupProvider        = Forward{}
	_ runtime.CursorLineProvider     = Forward{}
	_ runtime.ActivityProvider       = Forward{}
	_ runtime.SeenProvider           = Forward{}
	_ runtime.InteractionProvider    = Forward{}
	_ runtime.ConversationProvider   = Forward{}
	_ runtime.TurnProvider           = Forward{}
	_ runtime.ModeProvider           = Forward{}
)

func (f Forward) LastExit(ctx context.Context, name string) (*runtime.Exit, error) {
	return extended(ctx, f, Call{Kind: Query, Session: name}, "exit of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.ExitReporter) (*runtime.Exit, error) {
		return x.LastExit(ctx, name)
	})
}

func (f Forward) WaitFor(ctx context.Context, name string, any []runtime.Condition) (int, error) {
	return extended(ctx, f, Call{Session: name}, "wait for", runtime.ErrUnsupported, func(ctx context.Context, x runtime.Waiter) (int, error) {
		return x.WaitFor(ctx, name, any)
	})
}

func (f Forward) AwaitProgramGone(ctx context.Context, name string, names []string) error {
	return act(ctx, f, Call{Session: name}, "program of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.ProgramWatcher) error {
		return x.AwaitProgramGone(ctx, name, names)
	})
}

func (f Forward) Relaunch(ctx context.Context, name string, cfg runtime.Config) error {
	return act(ctx, f, Call{Session: name}, "relaunch", runtime.ErrRelaunchUnsupported, func(ctx context.Context, x runtime.RelaunchProvider) error {
		return x.Relaunch(ctx, name, cfg)
	})
}

func (f Forward) WaitForIdle(ctx context.Context, name string, timeout time.Duration) error {
	return act(ctx, f, Call{Kind: Query, Session: name, Own: timeout}, "idle", runtime.ErrUnsupported, func(ctx context.Context, x runtime.IdleWaitProvider) error {
		return x.WaitForIdle(ctx, name, timeout)
	})
}

func (f Forward) NudgeNow(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return extended(ctx, f, Call{Kind: Input, Session: name}, "nudge", runtime.ErrUnsupported, func(ctx context.Context, x runtime.ImmediateNudgeProvider) (runtime.Receipt, error) {
		return x.NudgeNow(ctx, name, content)
	})
}

func (f Forward) NudgeInterrupt(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return extended(ctx, f, Call{Kind: Input, Session: name}, "nudge", runtime.ErrUnsupported, func(ctx context.Context, x runtime.InterruptNudgeProvider) (runtime.Receipt, error) {
		return x.NudgeInterrupt(ctx, name, content)
	})
}

func (f Forward) Exec(ctx context.Context, name string, argv []string) (output []byte, code int, err error) {
	output, err = extended(ctx, f, Call{Session: name}, "exec in", runtime.ErrExecUnsupported, func(ctx context.Context, x runtime.ExecProvider) (out []byte, err error) {
		out, code, err = x.Exec(ctx, name, argv)
		return out, err
	})
	return output, code, err
}

func (f Forward) AwaitFirstIdle(ctx context.Context, name string, cfg runtime.Config) error {
	return act(ctx, f, Call{Session: name}, "first idle of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.StartupProvider) error {
		return x.AwaitFirstIdle(ctx, name, cfg)
	})
}

func (f Forward) CursorLine(ctx context.Context, name string) (string, error) {
	return extended(ctx, f, Call{Kind: Query, Session: name}, "cursor of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.CursorLineProvider) (string, error) {
		return x.CursorLine(ctx, name)
	})
}

// errNoEvidence stands for a target that never reports activity.
var errNoEvidence = errors.New("no evidence")

// Activity is unknown where the target never reports it.
func (f Forward) Activity(ctx context.Context, name string) (runtime.Activity, error) {
	a, err := extended(ctx, f, Call{Kind: Query, Session: name}, "activity of", errNoEvidence, func(ctx context.Context, x runtime.ActivityProvider) (runtime.Activity, error) {
		return x.Activity(ctx, name)
	})
	if errors.Is(err, errNoEvidence) {
		return runtime.Activity{State: runtime.ActivityUnknown}, nil
	}
	return a, err
}

func (f Forward) Seen(ctx context.Context, name string) error {
	return act(ctx, f, Call{Kind: Query, Session: name}, "seen", runtime.ErrUnsupported, func(ctx context.Context, x runtime.SeenProvider) error {
		return x.Seen(ctx, name)
	})
}

func (f Forward) Pending(ctx context.Context, name string) (*runtime.Interaction, error) {
	return extended(ctx, f, Call{Kind: Query, Session: name}, "question of", runtime.ErrInteractionUnsupported, func(ctx context.Context, x runtime.InteractionProvider) (*runtime.Interaction, error) {
		return x.Pending(ctx, name)
	})
}

func (f Forward) Respond(ctx context.Context, name string, a runtime.Answer) error {
	return act(ctx, f, Call{Kind: Input, Session: name}, "answer", runtime.ErrInteractionUnsupported, func(ctx context.Context, x runtime.InteractionProvider) error {
		return x.Respond(ctx, name, a)
	})
}

func (f Forward) Conversation(ctx context.Context, name string) (string, error) {
	return extended(ctx, f, Call{Kind: Query, Session: name}, "conversation of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.ConversationProvider) (string, error) {
		return x.Conversation(ctx, name)
	})
}

func (f Forward) AwaitTurn(ctx context.Context, name string, after int) (runtime.Turn, error) {
	return extended(ctx, f, Call{Session: name}, "turn of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.TurnProvider) (runtime.Turn, error) {
		return x.AwaitTurn(ctx, name, after)
	})
}

func (f Forward) SetMode(ctx context.Context, name, mode, model string) error {
	return act(ctx, f, Call{Kind: Query, Session: name}, "mode of", runtime.ErrUnsupported, func(ctx context.Context, x runtime.ModeProvider) error {
		return x.SetMode(ctx, name, mode, model)
	})
}
