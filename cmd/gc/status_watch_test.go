package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"gascity.dev/gc/cmd/gc/internal/backend"
	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/runtimefake"
)

// countedFake is a provider that must be closed.
type countedFake struct {
	*runtimefake.Fake
	open *int
}

func (f countedFake) Close() error {
	*f.open--
	return nil
}

// frames is a writer that ends a watch after some writes.
type frames struct {
	left int
	end  context.CancelFunc
}

func (f *frames) Write(p []byte) (int, error) {
	if f.left--; f.left == 0 {
		f.end()
	}
	return len(p), nil
}

func TestWatchHoldsOneProvider(t *testing.T) {
	dir := t.TempDir()
	for k, v := range map[string]string{"HOME": dir, "XDG_STATE_HOME": dir, "GC_MUX_SOCKET": filepath.Join(dir, "s"), "GC_SESSION": ""} {
		t.Setenv(k, v)
	}
	text := "[workspace]\nname = \"town\"\n[session]\nprovider = \"fake\"\n[[agents]]\nname = \"a\"\nstart_command = \"cat\"\n"
	if err := os.WriteFile(filepath.Join(dir, "city.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	made, open, most := 0, 0, 0
	fake := map[string]backend.Maker{
		"fake": func(*backend.Set, string) (runtime.Provider, error) {
			made, open = made+1, open+1
			most = max(most, open)
			return countedFake{runtimefake.New(), &open}, nil
		},
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		a := newApp(cli.Streams{Out: &frames{left: 20, end: cancel}}, nil)
		a.city.flag, a.providers.Make = dir, fake
		if err := watchStatus(ctx, a, cli.Listing{}); err != nil {
			t.Fatal(err)
		}
	})
	if made == 0 || most > 1 || open != 0 {
		t.Errorf("20 frames made %d providers, held %d at once and left %d open", made, most, open)
	}
}
