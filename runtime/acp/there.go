package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/host"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/shell"
	"gascity.dev/gc/internal/spawn"
)

// programThere is the gc of another machine, for a shell there.
const programThere = `"$GC_BIN"`

// program is the host's program, for a shell.
func (p *Provider) program() string {
	if p.o.Machine != nil {
		return programThere
	}
	return shell.Quote(p.o.Host)
}

// send writes the launch file where the host runs, which removes it.
func (p *Provider) send(ctx context.Context, l control.Launch) (file string, err error) {
	if p.o.Machine == nil {
		return control.WriteLaunch(l)
	}
	b, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	out, err := p.there(ctx, host.ReceiveArgs(), b)
	return strings.TrimSpace(string(out)), err
}

// forget removes the launch file if the host has not.
func (p *Provider) forget(ctx context.Context, file string) {
	if p.o.Machine == nil {
		os.Remove(file)
		return
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	_, _ = p.o.Machine.Run(clean, spawn.Command{Line: "rm -f -- " + shell.Quote(file)}) // best effort
}

// there runs the gc of the machine with the arguments, and returns its output.
func (p *Provider) there(ctx context.Context, args []string, in []byte) ([]byte, error) {
	line := "exec " + programThere
	for _, a := range args {
		line += " " + shell.Quote(a)
	}
	var out, said bytes.Buffer
	code, err := p.o.Machine.Run(ctx, spawn.Command{Line: line, Stdin: bytes.NewReader(in), Stdout: &out, Stderr: &said})
	if err == nil && code != 0 {
		err = fmt.Errorf("gc there: exit status %d: %s", code, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), err
}

// Entries calls f with the entries of a session's transcript whose number is greater than
// after, in order; it also works for a session that has ended.
func (p *Provider) Entries(ctx context.Context, name string, after int64, f func(transcript.Entry) error) error {
	dir := SessionDir(p.o.Dir, name)
	if p.o.Machine == nil {
		return transcript.Read(dir, after, f)
	}
	out, err := p.there(ctx, host.EntriesArgs(dir, after), nil)
	if err != nil {
		return fmt.Errorf("transcript of %s: %w", name, err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var e transcript.Entry
		err := dec.Decode(&e)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("transcript of %s: %w", name, err)
		}
		if err := f(e); err != nil {
			return err
		}
	}
}
