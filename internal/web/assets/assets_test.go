package assets

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"path"
	"strings"
	"testing"
)

func TestVendoredFilesAreThoseOfNpm(t *testing.T) {
	list, err := files.Open("vendor/SHA256SUMS")
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for s := bufio.NewScanner(list); s.Scan(); {
		sum, name, _ := strings.Cut(s.Text(), "  ")
		sums[name] = sum
	}
	modules := 0
	walk(t, "vendor", func(name string, data []byte) {
		base := path.Base(name)
		switch base {
		case "SHA256SUMS", "PINS", "fetch.sh":
			return
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:]); got != sums[base] {
			t.Errorf("%s: checksum %s, want %s", name, got, sums[base])
		}
		delete(sums, base)
		if module, ok := strings.CutSuffix(name, ".mjs"); ok {
			modules++
			if license, err := fs.ReadFile(files, module+".LICENSE"); err != nil || !strings.Contains(string(license), "Permission is hereby granted") {
				t.Errorf("%s has no licence: %v", name, err)
			}
		}
	})
	if len(sums) > 0 || modules != 6 {
		t.Errorf("%d modules; missing: %v", modules, sums)
	}
}

func TestPageIsLight(t *testing.T) {
	total := 0
	walk(t, ".", func(name string, data []byte) {
		switch path.Ext(name) {
		case ".mjs", ".js", ".css", ".html", ".svg", ".webmanifest":
			total += len(data)
		}
	})
	if total < 500_000 || total > 900_000 {
		t.Errorf("the page has %d bytes, want less than 900,000", total)
	}
}

// Program output must never become markup, and nothing comes from elsewhere.
func TestPageHasNoDangerousCalls(t *testing.T) {
	walk(t, ".", func(name string, data []byte) {
		if strings.HasPrefix(name, "vendor/") {
			return
		}
		for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser", "srcdoc", "src=\"http", "href=\"http"} {
			if strings.Contains(string(data), bad) {
				t.Errorf("%s contains %s", name, bad)
			}
		}
		if lines := strings.Count(string(data), "\n"); lines > 500 {
			t.Errorf("%s has %d lines", name, lines)
		}
	})
}

func walk(t *testing.T, dir string, f func(name string, data []byte)) {
	t.Helper()
	err := fs.WalkDir(files, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		f(name, data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
