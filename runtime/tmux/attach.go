package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"gascity.dev/gc/runtime"
)

// Attach implements runtime.Provider: a client of tmux on a terminal of its
// own, whose bytes are passed on both ways. The detach keys are the client's
// prefix and one key.
func (p *Provider) Attach(ctx context.Context, name string, t runtime.Terminal) error {
	v, err := p.live(ctx, name)
	if err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	if err := p.bindDetach(ctx, v.id, t.DetachKeys); err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	if err := p.attach(ctx, v.id, t); err != nil {
		return fmt.Errorf("attach %s: %w", name, err)
	}
	return nil
}

// bindDetach sets the keys that leave: "ctrl-b d" and its like, or "none".
func (p *Provider) bindDetach(ctx context.Context, id, spec string) error {
	prefix, key := "C-b", "d"
	switch f := strings.FieldsFunc(spec, func(r rune) bool { return r == ' ' || r == ',' }); {
	case spec == "":
	case spec == "none":
		prefix, key = "None", ""
	case len(f) == 2 && strings.HasPrefix(f[0], "ctrl-") && len(f[0]) == 6 && len(f[1]) == 1:
		prefix, key = "C-"+f[0][5:], f[1]
	default:
		return fmt.Errorf("detach keys %q: %w; tmux takes two, the first with ctrl", spec, runtime.ErrUnsupported)
	}
	if _, err := p.query(ctx, "set-option", "-t", id, "prefix", prefix); err != nil || key == "" {
		return err
	}
	_, err := p.query(ctx, "bind-key", "-T", "prefix", key, "detach-client")
	return err
}

// attach runs the client. The caller's terminal gets its modes back in every
// case.
func (p *Provider) attach(ctx context.Context, id string, t runtime.Terminal) error {
	if in, ok := t.In.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		old, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		defer func() { _ = term.Restore(int(in.Fd()), old) }() // nothing is left to do about it
	}
	master, slave, err := runtime.OpenPTY()
	if err != nil {
		return err
	}
	defer master.Close()
	args := p.serverArgs("attach-session", "-t", id)
	if t.ReadOnly {
		args = append(args, "-r")
	}
	cmd := exec.Command(p.o.Binary, args...)
	cmd.Env = append(p.environ(), "TERM="+outerTerm(p.o.Environ))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	setSize(master, t)
	err = cmd.Start()
	slave.Close()
	if err != nil {
		return err
	}
	return p.pass(ctx, cmd, master, t)
}

func outerTerm(env []string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "TERM="); ok && v != "" && v != "dumb" {
			return v
		}
	}
	return "xterm-256color"
}

// pass copies both ways until the client ends.
func (p *Provider) pass(ctx context.Context, cmd *exec.Cmd, master *os.File, t runtime.Terminal) error {
	ended := make(chan struct{})
	var tasks sync.WaitGroup
	tasks.Go(func() { _, _ = io.Copy(t.Out, master) }) // EIO at the client's end
	tasks.Go(func() { watchSize(ended, master, t) })
	tasks.Go(func() {
		select {
		case <-ctx.Done():
			_ = cmd.Process.Signal(syscall.SIGHUP) // the client detaches
		case <-ended:
		}
	})
	go func() { _, _ = io.Copy(master, t.In) }() // ends with t.In, or the next key after the end
	err := cmd.Wait()
	close(ended)
	tasks.Wait()
	var exit *exec.ExitError
	if ctx.Err() != nil || errors.As(err, &exit) && !exit.Exited() {
		return nil
	}
	return err
}

func setSize(master *os.File, t runtime.Terminal) {
	cols, rows := size(t)
	if cols > 0 && rows > 0 {
		_ = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(cols), Row: uint16(rows)})
	}
}

func size(t runtime.Terminal) (cols, rows int) {
	if t.Size != nil {
		cols, rows, err := t.Size()
		if err == nil {
			return cols, rows
		}
	}
	for _, end := range []any{t.Out, t.In} {
		if f, ok := end.(*os.File); ok {
			if cols, rows, err := term.GetSize(int(f.Fd())); err == nil {
				return cols, rows
			}
		}
	}
	return 80, 24
}

// watchSize follows the caller's terminal.
func watchSize(ended <-chan struct{}, master *os.File, t runtime.Terminal) {
	resized := t.Resized
	if resized == nil {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGWINCH)
		defer signal.Stop(c)
		out := make(chan struct{})
		go func() {
			defer close(out)
			for {
				select {
				case <-c:
					select {
					case out <- struct{}{}:
					case <-ended:
						return
					}
				case <-ended:
					return
				}
			}
		}()
		resized = out
	}
	for {
		select {
		case _, ok := <-resized:
			if !ok {
				resized = nil
				continue
			}
			setSize(master, t)
		case <-ended:
			return
		}
	}
}
