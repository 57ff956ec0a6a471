package backend

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// Every provider that a command can select is decorated, also behind a router, so
// that a hanging backend becomes an error.
func TestProvidersAreDecorated(t *testing.T) {
	dir := t.TempDir()
	for k, v := range map[string]string{"HOME": dir, "XDG_STATE_HOME": dir, "GC_MUX_SOCKET": filepath.Join(dir, "mux.sock")} {
		t.Setenv(k, v)
	}
	fakes := map[string]*runtimefake.Fake{}
	makers := map[string]Maker{}
	for name := range providers {
		makers[name] = func(*Set, string) (runtime.Provider, error) {
			f := runtimefake.New()
			f.Hang("IsRunning", "", true)
			fakes[name] = f
			return f, nil
		}
	}
	city := filepath.Join(dir, "town")
	if err := os.Mkdir(city, 0o700); err != nil {
		t.Fatal(err)
	}
	text := "[workspace]\nname = \"town\"\n[session]\nremote = \"tmux\"\nremote_match = [\"a*\"]\n[[agents]]\nname = \"a\"\nsession = \"tmux\"\nstart_command = \"cat\"\n"
	if err := os.WriteFile(filepath.Join(city, "city.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range append(providerNames(), "fake") {
		synctest.Test(t, func(t *testing.T) {
			s := &Set{Make: makers}
			p, err := s.New(Choice{Name: name, Origin: "the test"}, city)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			begin := time.Now()
			_, err = p.IsRunning(t.Context(), "a")
			if !errors.Is(err, runtime.ErrBackendUnreachable) || !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > 2*time.Minute {
				t.Errorf("%s: %v after %v", name, err, time.Since(begin))
			}
		})
	}
	if len(fakes) != len(providers) {
		t.Errorf("%d of %d providers were made", len(fakes), len(providers))
	}
}
