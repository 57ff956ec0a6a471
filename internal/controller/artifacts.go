package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"gascity.dev/gc/runtime"
)

// Recorder writes a session's recording, an asciicast, where the backend keeps
// one; runtime.ErrUnsupported where not.
type Recorder func(ctx context.Context, session string, w io.Writer) error

// Files of one agent's folder below the artifacts' folder.
const (
	ArtifactScreen     = "screen.txt"
	ArtifactScrollback = "scrollback.txt"
	ArtifactCast       = "session.cast"
	ArtifactResult     = "result.json"
	ArtifactSummary    = "summary.json" // beside the agents' folders
)

// writeArtifacts keeps what a run leaves: for each agent its last screen, its
// scrollback, its recording and a JSON result; and the status of the city. What
// cannot be had for one agent does not keep it from the others.
func writeArtifacts(ctx context.Context, p runtime.Provider, dir string, st Status, rec Recorder) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("artifacts: %w", err)
	}
	var errs []error
	for _, a := range st.Agents {
		if err := agentArtifacts(ctx, p, filepath.Join(dir, a.Session), a, rec); err != nil {
			errs = append(errs, fmt.Errorf("artifacts of %s: %w", a.Name, err))
		}
	}
	return errors.Join(append(errs, writeJSON(filepath.Join(dir, ArtifactSummary), st))...)
}

func agentArtifacts(ctx context.Context, p runtime.Provider, dir string, a AgentStatus, rec Recorder) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	errs := []error{writeJSON(filepath.Join(dir, ArtifactResult), a)}
	for _, f := range []struct {
		name  string
		lines int
	}{{ArtifactScreen, screenLines}, {ArtifactScrollback, 0}} {
		text, err := ask(ctx, func(ctx context.Context) (string, error) { return p.Peek(ctx, a.Session, f.lines) })
		switch {
		case errors.Is(err, runtime.ErrSessionNotFound):
			text = "" // it never ran, or nothing of it is kept
		case err != nil:
			errs = append(errs, err)
			continue
		}
		if text != "" {
			text += "\n"
		}
		errs = append(errs, writeFile(filepath.Join(dir, f.name), []byte(text)))
	}
	if rec != nil {
		errs = append(errs, record(ctx, filepath.Join(dir, ArtifactCast), a.Session, rec))
	}
	return errors.Join(errs...)
}

// record writes one recording; an unsupported one leaves no file.
func record(ctx context.Context, path, session string, rec Recorder) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	err = errors.Join(rec(ctx, session, f), f.Close())
	if err == nil {
		return nil
	}
	os.Remove(path)
	if errors.Is(err, runtime.ErrUnsupported) || errors.Is(err, runtime.ErrSessionNotFound) {
		return nil
	}
	return err
}

func writeJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(b, '\n'))
}

// writeFile writes a whole file or, as on a full disk, leaves none.
func writeFile(path string, b []byte) error {
	err := os.WriteFile(path, b, 0o644)
	if err != nil {
		os.Remove(path)
	}
	return err
}
