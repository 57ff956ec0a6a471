package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/runtime"
)

// deathWatch limits how long session new waits for the end of a command that was
// not found here; the shell would fail at once.
const deathWatch = 5 * time.Second

type sessionNewOptions struct {
	name   string
	record bool
	cwd    string
	env    []string
	size   string
	ready  string
	argv   []string
	json   bool
}

func newSessionNewCmd(a *app) *cobra.Command {
	var o sessionNewOptions
	cmd := &cobra.Command{
		Use:   "new NAME [-- COMMAND...]",
		Short: "Start a program in a new session",
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash > 1 || dash < 0 && len(args) > 1 {
				return cli.UsageError(cmd, "put -- before the command: "+cmd.UseLine())
			}
			return cli.Between(1, -1)(cmd, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: cli.Graceful(func(cmd *cobra.Command, args []string) error {
			o.name, o.argv = args[0], args[1:]
			return runSessionNew(cmd.Context(), a, o)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.cwd, "cwd", "", "start the program in this `DIR` (default: the current one)")
	f.StringArrayVar(&o.env, "env", nil, "set a variable `K=V` for the program; K= unsets it")
	f.StringVar(&o.size, "size", "", "set the size without attached terminals to `COLSxROWS` (default 120x40)")
	f.StringVar(&o.ready, "ready-prefix", "", "return when a line of the screen starts with this `TEXT`")
	f.BoolVar(&o.record, "record", false, "record the output with times, for session record and peek --at")
	f.BoolVar(&o.json, "json", false, "print the new session as JSON")
	return cli.Describe(cmd, `Starts the command and returns. Several words are a program and its arguments; a
single word is a shell command line; without a command it starts your shell. The
program inherits only HOME, PATH, SHELL and the locale, time zone and proxy
variables; --env adds others.`, `
		gc session new notes -- vim notes.txt
		gc session new build --cwd ~/src -- 'make && make test'
		gc session new py --ready-prefix '>>>' --size 80x24 -- python3`,
		cli.Statuses{cli.ExitFailure: "failure, such as: the name is taken, or the command does not exist", cli.ExitCannotTell: ""})
}

func runSessionNew(ctx context.Context, a *app, o sessionNewOptions) error {
	if err := runtime.CheckName(o.name); err != nil {
		return err
	}
	h, err := a.mux.Remote()
	if err != nil {
		return err
	}
	cfg, err := o.config(h != nil)
	if err != nil {
		return err
	}
	p, err := a.sessionProvider(ctx)
	if err != nil {
		return err
	}
	if o.record && !hasMux(p) {
		return fmt.Errorf("session new --record: %w", runtime.ErrUnsupported)
	}
	if err := p.Start(ctx, o.name, cfg); err != nil {
		return err
	}
	for _, w := range a.providers.Warnings() {
		a.Warn("%s", w)
	}
	if h == nil && !o.found(cfg.WorkDir) {
		if err := reportDeath(ctx, p, o.name); err != nil {
			return err
		}
	}
	if !o.json {
		return nil
	}
	client, err := sessionClient(ctx, &target{label: o.name, session: o.name, provider: p}, "session new --json")
	if err != nil {
		return err
	}
	info, err := client.Get(ctx, o.name)
	if err != nil {
		return err
	}
	return a.PrintJSON(info)
}

// config is the config of the session. With away its directory is on another
// machine, and defaults to the home directory there.
func (o *sessionNewOptions) config(away bool) (runtime.Config, error) {
	cfg := runtime.Config{
		Command: shellLine(o.argv), WorkDir: o.cwd, ReadyPromptPrefix: o.ready, Env: map[string]string{}, Record: o.record,
	}
	var err error
	switch {
	case !away:
		if cfg.WorkDir, err = localDir(o.cwd); err != nil {
			return cfg, err
		}
	case o.cwd != "" && !filepath.IsAbs(o.cwd):
		return cfg, cli.Fail(cli.ExitUsage, "the directory is on the other machine", "--cwd %s: must be an absolute path with --host", o.cwd)
	}
	for _, kv := range o.env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return cfg, cli.Fail(cli.ExitUsage, "such as --env LANG=C", "--env %s: must be K=V", kv)
		}
		cfg.Env[k] = v
	}
	if o.size != "" {
		if cfg.Cols, cfg.Rows, err = cli.ParseSize(o.size); err != nil {
			return cfg, err
		}
	}
	return cfg, nil
}

// localDir returns the absolute path of a directory, which must exist.
func localDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	switch st, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return "", cli.Fail(cli.ExitFailure, "create the directory, or use another --cwd", "work dir %s does not exist", dir)
	case err != nil:
		return "", fmt.Errorf("work dir: %w", err)
	case !st.IsDir():
		return "", cli.Fail(cli.ExitFailure, "--cwd requires a directory", "work dir %s: not a directory", dir)
	}
	return dir, nil
}

// found reports whether the program can be found from here. If not, session new
// waits for an early exit; the shell may still know the command.
func (o *sessionNewOptions) found(dir string) bool {
	if len(o.argv) == 0 || len(o.argv) == 1 && strings.ContainsAny(o.argv[0], " \t\n;|&<>()$`\\\"'*?[]#~=%!{}") {
		return true
	}
	program := o.argv[0]
	if strings.ContainsRune(program, '/') && !filepath.IsAbs(program) {
		program = filepath.Join(dir, program)
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// reportDeath waits for a session to end. If its command was not found, it removes
// the session and returns the exit status and last screen as an error.
func reportDeath(ctx context.Context, p runtime.Provider, name string) error {
	waiter, ok, err := runtime.AsFor[runtime.Waiter](ctx, p, name)
	if !ok || err != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, deathWatch)
	defer cancel()
	if _, err := waiter.WaitFor(limited, name, []runtime.Condition{{Exit: true}}); err != nil {
		return nil // it runs: the shell found the command
	}
	exit := lastExit(ctx, &target{session: name, provider: p})
	if exit == nil || exit.Code != 126 && exit.Code != 127 {
		return nil
	}
	screen, _ := p.Peek(ctx, name, 0)
	if err := p.Stop(ctx, name); err != nil {
		return err
	}
	return fmt.Errorf("start %s: %w", name, &runtime.StartupDeath{Session: name, Code: exit.Code, Signal: exit.Signal, Screen: screen})
}

// shellLine turns a program and its arguments into a shell command line that
// replaces the shell. A single argument is a command line already.
func shellLine(argv []string) string {
	switch len(argv) {
	case 0:
		return ""
	case 1:
		return argv[0]
	}
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = shell.Word(a)
	}
	return "exec " + strings.Join(quoted, " ")
}
