package muxcmd

import (
	"context"
	"io"
	"os"

	"gascity.dev/gc/internal/far"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/many"
)

// runMany serves the gc of another machine on the standard streams until they end.
func runMany(ctx context.Context, a *commands) error {
	paths, err := api.DefaultPaths(os.Getenv)
	if err != nil {
		return err
	}
	s := &far.Server{Paths: paths, Version: a.mux.Version, City: connectCity}
	return many.Serve(ctx, newStdio(a.In, a.Out), s.Hello(), s.Handle)
}

// stdio is the standard streams as one stream whose Close ends a blocked Read.
type stdio struct {
	*io.PipeReader
	io.Writer
}

func newStdio(in io.Reader, out io.Writer) stdio {
	r, w := io.Pipe()
	go func() { // lives until the process exits at the latest
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return stdio{r, out}
}
