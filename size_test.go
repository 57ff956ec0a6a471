package gc_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

// A file is one idea, a function one step: past these limits, in lines, look
// for the second one. Tests and generated files are exempt.
const (
	maxFileLines     = 500
	maxFunctionLines = 65
)

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
