package tui

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
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"gascity.dev/gc/internal/fleet"
	"gascity.dev/gc/internal/tui/internal/cells"
	"gascity.dev/gc/internal/tui/internal/terminal"
)

// Options are a person's terminal, and how gc ui uses it.
type Options struct {
	In, Out *os.File // a terminal
	Environ []string
	Colour  string // auto, always or never
	Tell    string // how the terminal is told that somebody is needed: osc9, osc99, bell, off

	// Attach returns the command that connects the terminal to an agent; the context ends it.
	Attach func(context.Context, *fleet.Agent) *exec.Cmd
}

// SignalError says that a signal ended gc ui.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "ended by signal: " + e.Signal.String() }

// Run shows the fleet until the person quits, ctx ends or a signal comes. However it ends,
// the terminal is as it was.
func Run(ctx context.Context, source fleet.Fleet, o Options) (err error) {
	if !term.IsTerminal(int(o.In.Fd())) || !term.IsTerminal(int(o.Out.Fd())) {
		return errors.New("gc ui requires a terminal")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)

	t := &terminal.Terminal{In: o.In, Out: o.Out, Mouse: true}
	if err := t.Enter(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Leave()) }()
	p := newProgram(ctx, source, t, o)
	defer func() { _, _ = o.Out.Write(p.model.tell.end()) }() // the terminal may be gone
	var tasks sync.WaitGroup
	defer tasks.Wait()
	defer cancel(nil)
	p.start(&tasks)
	tasks.Go(func() {
		select {
		case s := <-signals:
			cancel(&SignalError{s})
		case <-ctx.Done():
		}
		p.tea.Quit() // not by its context: it would not wait for its reader
	})
	_, err = p.tea.Run()
	switch cause := context.Cause(ctx); {
	case p.panicked != "":
		return errors.New(p.panicked)
	case cause != nil:
		return cause
	case p.lost != nil:
		return p.lost
	}
	return err
}

// program is the model in Bubble Tea's loop. Bubble Tea reads keys and runs commands; it does
// not paint, since its painter wakes up many times a second for nothing.
type program struct {
	ctx      context.Context
	model    *model
	terminal *terminal.Terminal
	tea      *tea.Program

	painted  time.Time
	due      bool // a paintMsg comes
	panicked string
	lost     error // the terminal is gone
}

// paintPause is the least time between two pictures: 30 a second.
const paintPause = time.Second / 30

// paintMsg comes when the next picture may be painted.
type paintMsg struct{}

func newProgram(ctx context.Context, source fleet.Fleet, t *terminal.Terminal, o Options) *program {
	m := newModel(source, cells.NewColours(o.Colour, true, o.Environ))
	m.tell.mode = o.Tell
	m.self, m.selfName = variable(o.Environ, "GC_SESSION_ID"), variable(o.Environ, "GC_SESSION_NAME")
	m.tell.inside = m.self != ""
	p := &program{ctx: ctx, model: m, terminal: t}
	m.attach = func(a *fleet.Agent) tea.Cmd { return p.attachTo(a.Name, o.Attach(p.ctx, a)) }
	m.suspend = tea.Exec(&pause{terminal: t}, func(error) tea.Msg { return resumedMsg{} })
	m.cols, m.rows = t.Size()
	p.tea = tea.NewProgram(p, tea.WithInput(o.In), tea.WithOutput(io.Discard), tea.WithEnvironment(o.Environ),
		tea.WithoutRenderer(), tea.WithoutSignalHandler(), tea.WithFPS(1), tea.WithWindowSize(m.cols, m.rows))
	return p
}

// variable returns a variable of an environment; "" if it is not set.
func variable(environ []string, name string) string {
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// start follows the fleet and the size of the terminal.
func (p *program) start(tasks *sync.WaitGroup) {
	task := func(do func()) {
		tasks.Go(func() {
			if msg := guarded(func() tea.Msg { do(); return nil })(); msg != nil {
				p.tea.Send(msg)
			}
		})
	}
	source, ctx := p.model.source, p.ctx
	task(func() {
		_ = source.Watch(ctx, func(s fleet.Snapshot) { p.tea.Send(snapshotMsg(s)) }) // it ends with ctx
	})
	task(func() { p.model.looker.run(ctx, source, p.tea.Send) })
	task(func() {
		resized := make(chan os.Signal, 1)
		signal.Notify(resized, unix.SIGWINCH)
		defer signal.Stop(resized)
		for {
			select {
			case <-resized:
				cols, rows := p.terminal.Size()
				p.tea.Send(tea.WindowSizeMsg{Width: cols, Height: rows})
			case <-ctx.Done():
				return
			}
		}
	})
}

// Init implements [tea.Model].
func (p *program) Init() tea.Cmd {
	p.paint()
	return nextAge()
}

// View implements [tea.Model]: Bubble Tea paints nothing.
func (p *program) View() tea.View { return tea.View{} }

// Update implements [tea.Model].
func (p *program) Update(msg tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	defer func() {
		if r := guarded(func() tea.Msg { cmd = tea.Batch(p.take(msg), p.paintSoon()); return nil })(); r != nil {
			p.panicked = r.(panicMsg).text
			cmd = tea.Quit
		}
	}()
	return p, nil
}

// take is one message.
func (p *program) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case panicMsg:
		p.panicked = msg.text
		return tea.Quit
	case paintMsg:
		p.due = false
		return nil
	case forgetMsg, resumedMsg:
		p.terminal.Forget()
		return nil
	case tellMsg:
		if err := p.terminal.Tell(msg); err != nil {
			p.lost = err
		}
		return nil
	}
	return p.model.update(msg)
}

// paintSoon paints, or has it done when it may be.
func (p *program) paintSoon() tea.Cmd {
	if p.due {
		return nil
	}
	if wait := paintPause - time.Since(p.painted); wait > 0 {
		p.due = true
		return tea.Tick(wait, func(time.Time) tea.Msg { return paintMsg{} })
	}
	p.paint()
	if p.lost != nil {
		return tea.Quit
	}
	return nil
}

func (p *program) paint() {
	wrote, err := p.terminal.Paint(p.model.picture())
	if err != nil {
		p.lost = fmt.Errorf("terminal: %w", err)
	}
	if wrote {
		p.painted = time.Now()
	}
}
