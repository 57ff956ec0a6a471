package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
	"gascity.dev/gc/runtime/native"
)

// First screens of real agents, painted in a session: a known dialog gets Enter on
// its wanted label, anything else gets no key.
func TestRecordedScreens(t *testing.T) {
	files, err := filepath.Glob("../../internal/rule/testdata/*.screen")
	if err != nil || len(files) == 0 {
		t.Fatalf("no screens: %v", err)
	}
	b := newBackend(t)
	p, err := native.New(native.Options{
		Paths: b.paths, StopGrace: time.Second,
		Limits: driver.Limits{Settle: 300 * time.Millisecond, Move: 300 * time.Millisecond, Gone: 300 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".screen")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recordedScreen(t, p, name, file)
		})
	}
}

func recordedScreen(t *testing.T, p *native.Provider, name, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, screen, _ := strings.Cut(string(data), "\n")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "screen"), []byte(strings.TrimRight(screen, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	// Keys are logged to a file; the screen never changes.
	err = p.Start(t.Context(), name, runtime.Config{
		WorkDir: dir, Command: "stty raw -echo opost; cat screen; exec cat > keys", ProcessNames: []string{"cat"},
	})
	defer func() {
		if err := p.Stop(t.Context(), name); err != nil {
			t.Error(err)
		}
	}()
	stays := strings.Contains(want, "known rate limit") // only a person can end it
	if blocked := errors.Is(err, runtime.ErrStartupBlocked); blocked != (strings.Contains(want, "marked") && !stays) || err != nil && !blocked {
		t.Errorf("%s: %v", want, err)
	}
	keys, kerr := os.ReadFile(filepath.Join(dir, "keys"))
	if kerr != nil {
		t.Fatal(kerr)
	}
	typed := map[string]string{
		"gemini-trust":      "\r", // selected already; the recording does not react
		"claude-text-style": "\r",
		"bypass":            "\x1b[B", // "No, exit" is selected and stays so: no Enter
		"update":            "\x1b[B",
	}[name]
	if string(keys) != typed {
		t.Errorf("typed %q, want %q", keys, typed)
	}
}
