package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program writes a file that looks like a static program for an ELF machine.
func program(t *testing.T, machine byte, more string) string {
	t.Helper()
	h := make([]byte, elfHeader)
	copy(h, "\x7fELF\x02\x01\x01")
	h[elfMachine] = machine
	file := filepath.Join(t.TempDir(), "gc")
	if err := os.WriteFile(file, append(h, more...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func write(t *testing.T, i Image) (archive []byte, digest string) {
	t.Helper()
	var b bytes.Buffer
	digest, err := i.Write(&b)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), digest
}

// entries reads a tar: names with their headers and contents.
func entries(t *testing.T, r io.Reader) (headers map[string]*tar.Header, files map[string][]byte) {
	t.Helper()
	headers, files = map[string]*tar.Header{}, map[string][]byte{}
	for archive := tar.NewReader(r); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return headers, files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if headers[h.Name] != nil || !h.ModTime.Equal(time.Unix(0, 0)) || h.Uname != "" {
			t.Errorf("%s: %+v", h.Name, h)
		}
		headers[h.Name], files[h.Name] = h, data
	}
}

// decode reads a blob and checks its digest and size.
func decode(t *testing.T, files map[string][]byte, d descriptor, into any) {
	t.Helper()
	data := files[blobPath(d.Digest)]
	if len(data) != d.Size || digestOf(data) != d.Digest {
		t.Fatalf("%+v: %d bytes with the digest %s", d, len(data), digestOf(data))
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func TestTwoPlatforms(t *testing.T) {
	i := Image{Name: "registry.example:5000/team/gc:v1", Version: "v1", Platforms: []Platform{
		{"arm64", map[string]string{"gc": program(t, 183, "arm")}},
		{"amd64", map[string]string{"gc": program(t, 62, "amd"), "gc-mcp": program(t, 62, "mcp")}},
	}}
	archive, digest := write(t, i)
	i.Platforms[0], i.Platforms[1] = i.Platforms[1], i.Platforms[0]
	if again, d := write(t, i); !bytes.Equal(archive, again) || d != digest {
		t.Error("other bytes for the same image")
	}
	_, files := entries(t, bytes.NewReader(archive))
	if got := string(files["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout %s", got)
	}
	var top, list index
	if err := json.Unmarshal(files["index.json"], &top); err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%s, %v", files["index.json"], err)
	}
	d := top.Manifests[0]
	if d.Digest != digest || d.MediaType != typeIndex || d.Annotations[noteName] != i.Name || d.Annotations[noteTag] != "v1" {
		t.Errorf("%+v", d)
	}
	decode(t, files, d, &list)
	if len(list.Manifests) != 2 {
		t.Fatalf("%+v", list)
	}
	for n, want := range []struct{ arch, gc string }{{"amd64", "amd"}, {"arm64", "arm"}} {
		var m manifest
		decode(t, files, list.Manifests[n], &m)
		if *list.Manifests[n].Platform != (osArch{"linux", want.arch}) {
			t.Errorf("%+v", list.Manifests[n])
		}
		checkImage(t, files, m, want.arch, want.gc, want.arch == "amd64")
	}
	var docker []dockerManifest
	if err := json.Unmarshal(files["manifest.json"], &docker); err != nil || len(docker) != 1 || docker[0].RepoTags[0] != i.Name || files[docker[0].Config] == nil || files[docker[0].Layers[0]] == nil {
		t.Errorf("%s, %v", files["manifest.json"], err)
	}
}

// checkImage checks the configuration and the layer of one platform.
func checkImage(t *testing.T, files map[string][]byte, m manifest, arch, text string, mcp bool) {
	t.Helper()
	var c config
	decode(t, files, m.Config, &c)
	if c.OS != "linux" || c.Arch != arch || c.Created != "1970-01-01T00:00:00Z" || c.Config.User != "1000:1000" || c.Config.Labels[labelVersion] != "v1" || c.Config.Entrypoint[0] != "/usr/local/bin/gc" {
		t.Errorf("%+v", c)
	}
	z, err := gzip.NewReader(bytes.NewReader(files[blobPath(m.Layers[0].Digest)]))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if got := digestOf(plain); len(m.Layers) != 1 || got != c.RootFS.Diffs[0] {
		t.Errorf("layer %s, want %s", got, c.RootFS.Diffs)
	}
	headers, in := entries(t, bytes.NewReader(plain))
	if h := headers["usr/local/bin/gc"]; h == nil || h.Mode != 0o755 || h.Uid != 0 || !strings.HasSuffix(string(in[h.Name]), text) {
		t.Errorf("gc: %+v", h)
	}
	if (headers["usr/local/bin/gc-mcp"] != nil) != mcp {
		t.Errorf("gc-mcp for %s", arch)
	}
	if headers["tmp/"].Mode != 0o1777 || headers["home/agent/"].Uid != 1000 || !strings.Contains(string(in["etc/passwd"]), "agent:x:1000:") {
		t.Errorf("%+v", headers)
	}
}

// TestOnePlatform has no list of platforms.
func TestOnePlatform(t *testing.T) {
	archive, digest := write(t, Image{Name: "gc:1", Version: "v1", Platforms: []Platform{{"amd64", map[string]string{"gc": program(t, 62, "x")}}}})
	_, files := entries(t, bytes.NewReader(archive))
	var top index
	if err := json.Unmarshal(files["index.json"], &top); err != nil {
		t.Fatal(err)
	}
	var m manifest
	decode(t, files, top.Manifests[0], &m)
	if d := top.Manifests[0]; d.Digest != digest || d.MediaType != typeManifest || d.Annotations[noteName] != "docker.io/library/gc:1" {
		t.Errorf("%+v", d)
	}
	checkImage(t, files, m, "amd64", "x", false)
}

func TestWrongPrograms(t *testing.T) {
	amd := program(t, 62, "")
	text := filepath.Join(t.TempDir(), "gc")
	if err := os.WriteFile(text, []byte("#!/bin/sh\n"+strings.Repeat("#", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		platforms []Platform
		want      string
	}{
		"none":     {nil, "an image needs a program"},
		"missing":  {[]Platform{{"amd64", map[string]string{"gc": text + "none"}}}, "no such file"},
		"script":   {[]Platform{{"amd64", map[string]string{"gc": text}}}, ErrProgram.Error()},
		"another":  {[]Platform{{"arm64", map[string]string{"gc": amd}}}, "a program for linux/amd64, want linux/arm64"},
		"twice":    {[]Platform{{"amd64", map[string]string{"gc": amd}}, {"amd64", map[string]string{"gc": amd}}}, "two programs for linux/amd64"},
		"dynamic":  {[]Platform{{"amd64", map[string]string{"gc": dynamic(t)}}}, ErrProgram.Error()},
		"unknown":  {[]Platform{{"riscv64", map[string]string{"gc": program(t, 243, "")}}}, ErrProgram.Error()},
		"shortest": {[]Platform{{"amd64", map[string]string{"gc": os.DevNull}}}, ErrProgram.Error()},
	} {
		if _, err := (Image{Name: "gc:1", Platforms: tt.platforms}).Write(io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// dynamic is a program with a header that names a loader.
func dynamic(t *testing.T) string {
	file := program(t, 62, "\x01\x00\x00\x00\x03\x00\x00\x00")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	data[elfTable], data[elfEntry], data[elfCount] = elfHeader, 4, 2
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestNames(t *testing.T) {
	for name, full := range map[string]string{
		"gc:1":                   "docker.io/library/gc:1",
		"team/gc:v1.2":           "docker.io/team/gc:v1.2",
		"localhost/gc:1":         "localhost/gc:1",
		"gc.local/gc:1":          "gc.local/gc:1",
		"127.0.0.1:5000/a/b-c:x": "127.0.0.1:5000/a/b-c:x",
		"gc":                     "", "gc:": "", ":1": "", "GC:1": "", "gc:1/2": "", "a//b:1": "", "gc@sha256:0": "", "gc :1": "",
	} {
		n, err := ParseName(name)
		if got := n.full(); full != "" && (err != nil || got != full || n.String() != name) || full == "" && err == nil {
			t.Errorf("%s: %s, %v; want %s", name, got, err, full)
		}
	}
}

// TestFullDisk: an error of the writer is the result.
func TestFullDisk(t *testing.T) {
	full := errors.New("no space")
	i := Image{Name: "gc:1", Platforms: []Platform{{"amd64", map[string]string{"gc": program(t, 62, "")}}}}
	for n := range 5 {
		if _, err := i.Write(&limited{n * 1000, full}); !errors.Is(err, full) {
			t.Errorf("after %d bytes: %v", n*1000, err)
		}
	}
}

type limited struct {
	left int
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, fmt.Errorf("write: %w", l.err)
	}
	return len(p), nil
}
