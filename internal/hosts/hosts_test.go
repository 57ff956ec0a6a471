package hosts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func registry(t *testing.T) Registry {
	t.Helper()
	dir := t.TempDir()
	r, err := Default(func(name string) string {
		if name == "XDG_CONFIG_HOME" {
			return dir
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRegistry(t *testing.T) {
	r := registry(t)
	if list, err := r.List(); err != nil || len(list) != 0 {
		t.Fatalf("%v, %v", list, err)
	}
	for _, h := range []Host{{Name: "b", URL: "ssh://me@b.example:2222"}, {Name: "a", URL: "ssh://a"}} {
		if err := r.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := r.Update("ssh://a", func(h *Host) { h.Check = &Check{At: at, Version: "1"}; h.Bin = "/x/gc" }); err != nil {
		t.Fatal(err)
	}
	list, err := r.List()
	if err != nil || len(list) != 2 || list[0].Name != "a" || list[0].Check.Version != "1" || !list[0].Check.At.Equal(at) || list[1].URL != "ssh://me@b.example:2222" {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, by := range []string{"a", "ssh://a"} {
		if h, ok, err := r.Find(by); err != nil || !ok || h.Bin != "/x/gc" {
			t.Errorf("%s: %+v, %v, %v", by, h, ok, err)
		}
	}
	if _, ok, err := r.Find("c"); ok || err != nil {
		t.Errorf("found c: %v", err)
	}
	if st, err := os.Stat(r.path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if err := r.Remove("b"); err != nil {
		t.Error(err)
	}
	if err := r.Remove("b"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(r.path), ".hosts-*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestBadHosts(t *testing.T) {
	r := registry(t)
	if err := r.Add(Host{Name: "a", URL: "ssh://a"}); err != nil {
		t.Fatal(err)
	}
	for want, list := range map[error][]Host{
		ErrExists:  {{Name: "a", URL: "ssh://b"}, {Name: "b", URL: "ssh://a"}},
		ErrBadHost: {{Name: "", URL: "ssh://b"}, {Name: "-b", URL: "ssh://b"}, {Name: "b/c", URL: "ssh://b"}, {Name: "b", URL: "b"}, {Name: "b", URL: "ssh://me:secret@b"}},
	} {
		for _, h := range list {
			err := r.Add(h)
			if !errors.Is(err, want) {
				t.Errorf("%+v: %v, want %v", h, err, want)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the password: %v", err)
			}
		}
	}
	if list, err := r.List(); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestFileIsReadStrictly(t *testing.T) {
	good := `{"hosts": [{"name": "a", "url": "ssh://a"}]}`
	for text, want := range map[string]string{
		`{"hosts": [{"name": "a", "url": "ssh://a", "port": 1}]}`:                       "port",
		`{"hosts": [{"name": "a", "url": "ssh://a"}, {"name": "a", "url": "ssh://b"}]}`: "twice",
		`{"hosts": [{"name": "a", "url": "ssh://a"}, {"name": "b", "url": "ssh://a"}]}`: "twice",
		`{"hosts": [{"name": "a b", "url": "ssh://a"}]}`:                                "name",
		good + good:  "text after",
		`{"hosts": `: "EOF",
		``:           "EOF",
	} {
		r := registry(t)
		write(t, r, text, 0o600)
		var bad *FileError
		if _, err := r.List(); !errors.As(err, &bad) || !strings.Contains(err.Error(), want) || bad.Hint() == "" {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if err := r.Add(Host{Name: "n", URL: "ssh://n"}); err == nil {
			t.Errorf("%s: replaced", text)
		}
		if now, err := os.ReadFile(r.path); err != nil || string(now) != text {
			t.Errorf("%s: it was changed to %s, %v", text, now, err)
		}
	}
	r := registry(t)
	write(t, r, good, 0o622)
	if _, err := r.List(); err == nil || !strings.Contains(err.Error(), "other users can write") {
		t.Error(err)
	}
}

func write(t *testing.T, r Registry, text string, mode os.FileMode) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(r.path), 0o700)
	if err == nil {
		err = os.WriteFile(r.path, []byte(text), mode)
	}
	if err == nil {
		err = os.Chmod(r.path, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Changes at the same time are all kept, and a reader never sees half a file.
func TestChangesAtOnce(t *testing.T) {
	r := registry(t)
	var all sync.WaitGroup
	const n = 30
	for i := range n {
		all.Go(func() {
			name := fmt.Sprintf("h%d", i)
			if err := r.Add(Host{Name: name, URL: "ssh://" + name}); err != nil {
				t.Error(err)
			}
			if _, ok, err := r.Find(name); !ok || err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
	if list, err := r.List(); err != nil || len(list) != n {
		t.Errorf("%d hosts, %v", len(list), err)
	}
}
