package gc_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is one idea, a function one step, a package one thing: past these limits, look
// for the second one. Tests and generated files are exempt.
const (
	maxFileLines     = 500
	maxFunctionLines = 65
	maxPackageFiles  = 40
)

// largePackages may have more files, up to this many.
var largePackages = map[string]int{
	"vt": 63, // a file per group of control functions, all of which change one screen
}

func TestPackagesAreSmall(t *testing.T) {
	files := map[string]int{} // by package; for every system
	eachGoFile(t, func(path string) {
		if !strings.HasSuffix(path, "_test.go") {
			files[filepath.ToSlash(filepath.Dir(path))]++
		}
	})
	if files["cmd/gc"] == 0 {
		t.Fatalf("no files of cmd/gc among %v", files)
	}
	for dir, n := range files {
		limit := max(maxPackageFiles, largePackages[dir])
		if n > limit {
			t.Errorf("%s: %d files, at most %d: what in it could be a package of its own?", dir, n, limit)
		}
	}
	for dir := range largePackages {
		if files[dir] <= maxPackageFiles {
			t.Errorf("%s has %d files: it is no exception any more", dir, files[dir])
		}
	}
}

func TestFilesAndFunctionsAreSmall(t *testing.T) {
	eachGoFile(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		src, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			return
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		if ast.IsGenerated(file) {
			return
		}
		if n := bytes.Count(src, []byte("\n")); n > maxFileLines {
			t.Errorf("%s: %d lines, at most %d", path, n, maxFileLines)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			start, end := fset.Position(f.Pos()), fset.Position(f.End())
			if n := end.Line - start.Line + 1; n > maxFunctionLines {
				t.Errorf("%s: function %s has %d lines, at most %d", start, f.Name.Name, n, maxFunctionLines)
			}
		}
	})
}
