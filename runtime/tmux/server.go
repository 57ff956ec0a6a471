package tmux

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// ConfigureServer implements runtime.ServerLifecycleProvider.
func (p *Provider) ConfigureServer(ctx context.Context) error {
	release, err := p.noticing(ctx)
	if err != nil {
		return convert(err)
	}
	defer release()
	return convert(p.ensure(ctx))
}

// TeardownServer implements runtime.ServerLifecycleProvider. What ended, and is
// kept for its last screen, goes with the server.
func (p *Provider) TeardownServer(ctx context.Context) error {
	err := p.endServer(ctx, func(v pane) bool { return v.dead })
	if err != nil {
		return fmt.Errorf("stop tmux: %w", err)
	}
	return nil
}

// endEmpty ends a server that has no session any more, not even one that ended.
func (p *Provider) endEmpty(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	return p.endServer(ctx, func(pane) bool { return false })
}

// endLimit is how long a server may take to go.
const endLimit = 30 * time.Second

// endServer ends the server unless a session is in it that must not go. No gc
// begins one meanwhile.
func (p *Provider) endServer(ctx context.Context, mayGo func(pane) bool) error {
	release, err := p.quiet(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil // somebody is in it
	}
	if err != nil {
		return convert(err)
	}
	defer release()
	lines, err := p.query(ctx, "list-panes", "-a", "-F", paneFormat)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, l := range lines {
		if v, ok := parsePane(l); !ok && !strings.HasSuffix(l, ","+holder) || ok && !mayGo(v) {
			return nil
		}
	}
	// Not cut short: nobody may meet a server that is going. The answer may be
	// lost with it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if _, err := (oneShot{p}).run(ctx, "kill-server"); err != nil && !errors.Is(err, errLost) {
		return convert(err)
	}
	for !errors.Is(p.listening(ctx), errNoServer) {
		if err := sleep(ctx, echoStep); err != nil {
			return convert(err)
		}
	}
	// tmux leaves it.
	if err := os.Remove(p.o.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
