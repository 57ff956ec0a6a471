package thirdparty

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write notices.txt")

// part is something that a program of ours contains.
type part struct {
	name, version, dir string
}

// parts are the modules of every program on every platform, the standard library, and the
// files in the page of gc web.
func parts(t *testing.T) []part {
	t.Helper()
	found := map[string]part{}
	for _, platform := range []string{"linux", "darwin"} {
		for _, tags := range []string{"", "k8s"} {
			cmd := exec.Command("go", "list", "-deps", "-json=Module", "-tags="+tags, "../../cmd/...")
			cmd.Env = append(os.Environ(), "GOOS="+platform, "CGO_ENABLED=0")
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("go list: %v", err)
			}
			for dec := json.NewDecoder(bytes.NewReader(out)); ; {
				var p struct {
					Module *struct {
						Path, Version, Dir string
						Main               bool
					}
				}
				if err := dec.Decode(&p); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatal(err)
				}
				if m := p.Module; m != nil && !m.Main {
					found[m.Path] = part{m.Path, m.Version, m.Dir}
				}
			}
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	all := []part{{"The Go standard library", "", strings.TrimSpace(string(root))}, {"xterm.js and its addons, in the page of gc web", "", "../web/assets/vendor"}}
	for _, p := range found {
		all = append(all, p)
	}
	slices.SortFunc(all[2:], func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return all
}

// legal matches the files of a module that its users must pass on.
var legal = regexp.MustCompile(`(?i)^((licen[sc]e|copying|notice|patents)([.-].*)?|.*\.license)$`)

// text is what a part's authors say, once for each file.
func (p part) text(t *testing.T) string {
	t.Helper()
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		if !legal.MatchString(e.Name()) || e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(p.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if b.Len() == 0 {
		t.Errorf("%s has no licence file in %s", p.name, p.dir)
	}
	return b.String()
}

const line = "--------------------------------------------------------------------------------\n"

// TestNotices fails if notices.txt is not what the programs contain; -update writes it.
func TestNotices(t *testing.T) {
	var b strings.Builder
	b.WriteString("gc contains software by others, under these licences.\n")
	shown := map[string]string{} // text: the first part that has it
	for _, p := range parts(t) {
		text := p.text(t)
		fmt.Fprintf(&b, "\n%s%s\n%s", line, strings.TrimSpace(p.name+" "+p.version), line)
		if same := shown[text]; same != "" {
			fmt.Fprintf(&b, "\nThe licence is that of %s, with the same words.\n", same)
			continue
		}
		shown[text] = p.name
		b.WriteString(text)
	}
	want := b.String()
	if *update {
		if err := os.WriteFile("notices.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if Notices != want {
		t.Error("notices.txt is not what the programs contain: make notices")
	}
}

// Nobody's licence forbids what we do: each is one of those that were looked at.
func TestLicencesAreKnown(t *testing.T) {
	known := []string{
		"Permission is hereby granted, free of charge",      // MIT
		"Redistribution and use in source and binary forms", // BSD
		"Apache License",
		"Mozilla Public License, version 2.0", "Mozilla Public License Version 2.0", // unchanged files
		"Permission to use, copy, modify, and/or distribute", "Permission to use, copy, modify, and distribute", // ISC
	}
	for _, p := range parts(t) {
		text := strings.Join(strings.Fields(p.text(t)), " ")
		if !slices.ContainsFunc(known, func(k string) bool { return strings.Contains(text, k) }) {
			t.Errorf("%s: an unknown licence: %.200s", p.name, text)
		}
	}
}
