package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// oneShot runs each command in its own client process.
type oneShot struct{ p *Provider }

// separator separates two commands.
const separator = ";"

// private reports whether a command may hold something that must not be in the
// process table; such commands go through a file.
func private(command string) bool {
	return command == "set-buffer" || command == "set-environment" || command == "send-keys"
}

func (o oneShot) run(ctx context.Context, words ...string) ([]string, error) {
	if !private(words[0]) {
		return o.commands(ctx, arguments(words))
	}
	f, err := os.CreateTemp(filepath.Dir(o.p.o.Socket), "command-*") // 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(quoteLine(words) + "\n")
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	lines, err := o.commands(ctx, []string{"source-file", f.Name()})
	var refused *commandError
	if errors.As(err, &refused) {
		refused.message = strings.TrimPrefix(refused.message, f.Name()+":1: ")
	}
	return lines, err
}

// arguments returns the words of one command for the command line.
func arguments(words []string) []string {
	args := make([]string, len(words))
	for i, w := range words {
		if strings.HasSuffix(w, separator) { // it would end the command
			w = w[:len(w)-1] + `\` + separator
		}
		args[i] = w
	}
	return args
}

// commands runs commands that are separated by separator.
func (o oneShot) commands(ctx context.Context, args []string) ([]string, error) {
	var out [2]*os.File
	for i := range out {
		f, err := o.scratch()
		if err != nil {
			return nil, err
		}
		defer f.Close()
		out[i] = f
	}
	cmd := exec.CommandContext(ctx, o.p.o.Binary, o.p.serverArgs(args...)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = o.p.environ(), "/", out[0], out[1]
	err := cmd.Run()
	text, oerr := written(out[0])
	message, merr := written(out[1])
	if rerr := errors.Join(oerr, merr); rerr != nil {
		return nil, rerr
	}
	message = strings.TrimSpace(message)
	var exit *exec.ExitError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !errors.As(err, &exit):
		return nil, err
	case strings.HasPrefix(message, "no server running"), strings.HasPrefix(message, "error connecting") && strings.Contains(message, "(No such file"):
		return nil, errNoServer
	case strings.HasPrefix(message, "error connecting"):
		return nil, errors.New("tmux: " + message)
	case !exit.Exited(), strings.Contains(message, "server exited"), strings.Contains(message, "lost server"):
		return nil, fmt.Errorf("%w: %w: %s", errLost, err, message)
	default:
		return nil, &commandError{message}
	}
	if text == "" {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n"), nil
}

// scratch returns an unnamed file for a client's output. A pipe would stay open until
// the server, which inherits it, closes it.
func (o oneShot) scratch() (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(o.p.o.Socket), "answer-*") // 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// written returns the content of a file.
func written(f *os.File) (string, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	data, err := io.ReadAll(f)
	return string(data), err
}
