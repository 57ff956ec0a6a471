//go:build k8s

package registry

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"gascity.dev/gc/internal/image"
)

// serve runs a registry on loopback; with an account it wants its password.
func serve(t *testing.T, account string) (host string) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if account != "" && user+":"+password != account {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// machines are the words of ELF for architectures.
var machines = map[string]byte{"amd64": 62, "arm64": 183}

// archive is an image for these architectures, whose program is the head of one.
func archive(t *testing.T, ref string, architectures ...string) (write func(io.Writer) error, digest string) {
	t.Helper()
	i := image.Image{Name: ref, Version: "v1"}
	for _, arch := range architectures {
		program := filepath.Join(t.TempDir(), "gc")
		head := make([]byte, 64)
		copy(head, "\x7fELF\x02\x01\x01")
		head[18] = machines[arch]
		if err := os.WriteFile(program, head, 0o700); err != nil {
			t.Fatal(err)
		}
		i.Platforms = append(i.Platforms, image.Platform{Arch: arch, Programs: map[string]string{"gc": program}})
	}
	digest, err := i.Write(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return func(w io.Writer) error { _, err := i.Write(w); return err }, digest
}

// What a registry gives back is what was pushed, for one platform and for two.
func TestPush(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for _, architectures := range [][]string{{"amd64"}, {"amd64", "arm64"}} {
		ref := serve(t, "") + "/team/gc:v1"
		write, want := archive(t, ref, architectures...)
		for range 2 { // the second has nothing to send
			if got, err := Push(t.Context(), ref, write, Options{}); got != want || err != nil {
				t.Fatalf("%q, %v, want %q", got, err, want)
			}
		}
		parsed, err := name.ParseReference(ref)
		if err != nil {
			t.Fatal(err)
		}
		there, err := remote.Get(parsed)
		if err != nil || there.Digest.String() != want {
			t.Fatalf("%+v, %v", there, err)
		}
		i, err := there.Image()
		if err != nil {
			t.Fatal(err)
		}
		if config, err := i.ConfigFile(); err != nil || config.Config.Entrypoint[0] != "/usr/local/bin/gc" {
			t.Errorf("%+v, %v", config, err)
		}
	}
}

// The credentials are those of docker login.
func TestCredentials(t *testing.T) {
	config := t.TempDir()
	t.Setenv("DOCKER_CONFIG", config)
	host := serve(t, "me:secret")
	ref := host + "/gc:v1"
	write, want := archive(t, ref, "amd64")
	if _, err := Push(t.Context(), ref, write, Options{}); !errors.Is(err, ErrDenied) || strings.Contains(err.Error(), "\n") {
		t.Errorf("without credentials: %v", err)
	}
	text := `{"auths":{"` + host + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("me:secret")) + `"}}}`
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Push(t.Context(), ref, write, Options{}); got != want || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

// An archive that cannot be written, a name and a registry that are not there are errors.
func TestPushFails(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	host := serve(t, "")
	write, _ := archive(t, host+"/gc:v1", "amd64")
	bad := errors.New("disk full")
	if _, err := Push(t.Context(), host+"/gc:v1", func(io.Writer) error { return bad }, Options{}); !errors.Is(err, bad) {
		t.Errorf("%v", err)
	}
	if _, err := Push(t.Context(), "No Name", write, Options{}); err == nil {
		t.Error("a bad name is accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Push(ctx, host+"/gc:v1", write, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := Push(t.Context(), "127.0.0.1:1/gc:v1", write, Options{}); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}
