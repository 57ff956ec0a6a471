package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

type recordOptions struct {
	format string
	file   string
}

func newSessionRecordCmd(a *app, s scope) *cobra.Command {
	var o recordOptions
	cmd := &cobra.Command{
		Use:               "record NAME",
		Short:             "Export the recording of a session",
		Args:              cli.Exactly(1),
		ValidArgsFunction: s.complete,
		RunE:              s.on(func(ctx context.Context, t *target) error { return runSessionRecord(ctx, a, t, o) }),
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", api.RecordingASCIICast, "write this `FORMAT`: asciicast (version 2, for asciinema) or raw (only the bytes)")
	f.StringVarP(&o.file, "output", "o", "", "write to this `FILE` (default: standard output)")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{api.RecordingASCIICast, api.RecordingRaw}, cobra.ShellCompDirectiveNoFileComp))
	return cli.Describe(cmd, `Writes all output of the program so far, with times and sizes. The session must have
been started with --record. A recording has at most 256 MiB, lies beside the server's
state, and is deleted with the session. With -o the file is written completely or not
at all.`, `
		gc session new build --record -- make -j4
		gc session record build -o build.cast && asciinema play build.cast
		gc session record build --format raw | less -R`,
		cli.Statuses{cli.ExitFailure: "failure, or the session has no recording", cli.ExitNotFound: "", cli.ExitCannotTell: "", cli.ExitUnsupported: ""})
}

func runSessionRecord(ctx context.Context, a *app, t *target, o recordOptions) error {
	if o.format != api.RecordingASCIICast && o.format != api.RecordingRaw {
		return cli.Fail(cli.ExitUsage, "valid values: asciicast, raw", "unknown format %q", o.format)
	}
	if f, ok := a.Out.(*os.File); ok && o.file == "" && o.format == api.RecordingRaw && term.IsTerminal(int(f.Fd())) {
		return cli.Fail(cli.ExitUsage, "-o FILE writes a file", "cannot write raw output to a terminal")
	}
	client, err := recordedClient(ctx, t, "session record")
	if err != nil {
		return err
	}
	if o.file == "" {
		return client.Recording(ctx, t.session, o.format, a.Out)
	}
	return writeWhole(o.file, func(w io.Writer) error { return client.Recording(ctx, t.session, o.format, w) })
}

// recordedClient is sessionClient for a session that has a recording.
func recordedClient(ctx context.Context, t *target, what string) (*client.Client, error) {
	client, err := sessionClient(ctx, t, what)
	if err != nil {
		return nil, err
	}
	info, err := client.Get(ctx, t.session)
	if err != nil {
		return nil, err
	}
	if !info.Recording {
		return nil, cli.Fail(cli.ExitFailure, "recording begins with the session: gc session new NAME --record -- COMMAND, or record = true in city.toml",
			"%s has no recording", t.label)
	}
	return client, nil
}

// writeWhole replaces the file path by what write writes; on an error it leaves
// the old file.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(f.Name()) // gone after the rename
	err = write(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
