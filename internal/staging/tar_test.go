package staging_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gascity.dev/gc/internal/staging"
)

// send stages a plan by a tar.
func send(ctx context.Context, work string, p staging.Plan) error {
	var b bytes.Buffer
	if err := staging.Pack(ctx, &b, p); err != nil {
		return err
	}
	return staging.Unpack(ctx, work, &b)
}

// TestTarStagesAsHere: a plan has the same result in a work directory of this machine and
// by a tar, the second time too.
func TestTarStagesAsHere(t *testing.T) {
	weak := tree(t, map[string]string{"a": "pack", "bin/run": "#!", "mine": "pack", "link": "-> a", "per-provider/claude/c": "claude"})
	strong := tree(t, map[string]string{"a": "own"})
	src := tree(t, map[string]string{"d/x": "x", "one": "1", "alias": "-> one"})
	if err := os.Chmod(filepath.Join(weak, "bin/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	p := staging.Plan{
		Overlays: []string{weak, strong}, Slots: []string{"claude"},
		Copies: []staging.Copy{
			{Src: filepath.Join(src, "d"), RelDst: "deep/er"},
			{Src: filepath.Join(src, "one")},
			{Src: filepath.Join(src, "alias"), RelDst: "dir"}, // a directory there
			{Src: filepath.Join(src, "one"), RelDst: "name"},
			{Src: filepath.Join(src, "one"), RelDst: "into/"},
			{Src: filepath.Join(src, "none"), Optional: true},
			{Src: "prompt", RelDst: ".state/prompt", Data: []byte("do it")},
		},
	}
	for name, stage := range map[string]func(work string) error{
		"here": func(work string) error {
			if err := staging.Overlay(t.Context(), work, p.Overlays, p.Slots); err != nil {
				return err
			}
			return staging.CopyAll(t.Context(), work, p.Copies)
		},
		"tar": func(work string) error { return send(t.Context(), work, p) },
	} {
		t.Run(name, func(t *testing.T) {
			work := tree(t, map[string]string{"mine": "user", "dir/f": "f", "one": "old"})
			for range 2 {
				if err := stage(work); err != nil {
					t.Fatal(err)
				}
				wantTree(t, work, map[string]string{
					"a": "own", "bin/run": "#!", "mine": "user", "link": "-> a", "c": "claude", "deep/er/x": "x",
					"one": "1", "dir/f": "f", "dir/alias": "1", "name": "1", "into/one": "1", ".state/prompt": "do it",
				})
			}
			for file, want := range map[string]os.FileMode{"bin/run": 0o755, ".state/prompt": 0o600} {
				if info, err := os.Stat(filepath.Join(work, file)); err != nil || info.Mode() != want {
					t.Errorf("%s: %v, %v", file, info.Mode(), err)
				}
			}
			m, err := os.ReadFile(filepath.Join(work, ".gc/staged.json"))
			if err != nil || strings.Contains(string(m), "mine") || !strings.Contains(string(m), `"bin/run"`) {
				t.Errorf("manifest %s, %v", m, err)
			}
		})
	}
}

// TestPackRefusesWhatIsMissingOrEscapes: the errors are those of staging here.
func TestPackRefusesWhatIsMissingOrEscapes(t *testing.T) {
	leaves := tree(t, map[string]string{"out": "-> ../../x"})
	for name, c := range map[string]struct {
		plan staging.Plan
		want error
	}{
		"missing overlay": {staging.Plan{Overlays: []string{leaves + "/none"}}, os.ErrNotExist},
		"missing copy":    {staging.Plan{Copies: []staging.Copy{{Src: leaves + "/none"}}}, os.ErrNotExist},
		"link":            {staging.Plan{Overlays: []string{leaves}}, staging.ErrEscapes},
		"destination":     {staging.Plan{Copies: []staging.Copy{{Src: leaves, RelDst: "../x"}}}, staging.ErrEscapes},
	} {
		work := t.TempDir()
		if err := send(t.Context(), work, c.plan); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		wantTree(t, work, map[string]string{})
	}
}

// TestUnpackTrustsNoTar: what leads out of the work directory, or is no file, is refused
// before anything was written; also through a link that is in the work directory.
func TestUnpackTrustsNoTar(t *testing.T) {
	outside := tree(t, map[string]string{"f": "safe"})
	file := func(name string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: 1}
	}
	link := func(name, target string) *tar.Header {
		return &tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
	}
	into := file("x")
	into.PAXRecords = map[string]string{"GC.copy": "x", "GC.into": "../../x"}
	for name, headers := range map[string][]*tar.Header{
		"parent":      {file("../x")},
		"absolute":    {file("/x")},
		"inside out":  {file("a/../../x")},
		"into":        {into},
		"work dir":    {file(".")},
		"link":        {link("l", "../x")},
		"deep link":   {link("a/b/l", "../../../x")},
		"fixed link":  {link("l", "/etc/passwd")},
		"by its link": {file("away/f")},
		"own link":    {link("l", "away"), file("l/f")},
	} {
		t.Run(name, func(t *testing.T) {
			work := tree(t, map[string]string{"away": "-> " + outside})
			var b bytes.Buffer
			w := tar.NewWriter(&b)
			for _, h := range append([]*tar.Header{file("fine")}, headers...) {
				if err := w.WriteHeader(h); err != nil {
					t.Fatal(err)
				}
				if h.Typeflag == tar.TypeReg {
					w.Write([]byte("x"))
				}
			}
			if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeXGlobalHeader, PAXRecords: map[string]string{"GC.end": "1"}}); err != nil {
				t.Fatal(err)
			}
			w.Close()
			if err := staging.Unpack(t.Context(), work, &b); !errors.Is(err, staging.ErrEscapes) {
				t.Errorf("%v", err)
			}
			wantTree(t, outside, map[string]string{"f": "safe"})
			if name != "own link" {
				wantTree(t, work, map[string]string{"away": "-> " + outside})
			}
		})
	}
}

// TestCutTarWritesNothing: wherever the tar ends, it is refused as incomplete.
func TestCutTarWritesNothing(t *testing.T) {
	src := tree(t, map[string]string{"a": strings.Repeat("a", 700), "b/c": "c", "l": "-> a"})
	var whole bytes.Buffer
	if err := staging.Pack(t.Context(), &whole, staging.Plan{Overlays: []string{src}, Copies: []staging.Copy{{Src: src, RelDst: "copy"}}}); err != nil {
		t.Fatal(err)
	}
	work := t.TempDir()
	for n := 0; n <= whole.Len()-2048; n += 128 { // the last header is followed by padding
		err := staging.Unpack(t.Context(), work, bytes.NewReader(whole.Bytes()[:n]))
		wantTree(t, work, map[string]string{})
		if !errors.Is(err, staging.ErrIncomplete) {
			t.Fatalf("%d of %d bytes: %v", n, whole.Len(), err)
		}
	}
	if err := staging.Unpack(t.Context(), work, &whole); err != nil {
		t.Fatal(err)
	}
}
