package proctree

import (
	"path/filepath"
	"slices"
	"strings"
)

// Matches reports whether pid runs (a zombie does not) under one of the names:
// the base name of its executable, of argv[0], or, for an interpreter, of the
// script it runs, with or without the script's extension; for python -m the
// module. Names are compared exactly; an empty list matches nothing.
func Matches(pid int, names []string) bool {
	p, err := get(pid)
	return err == nil && p.Matches(names)
}

// Matches is [Matches] for a process already read.
func (p Proc) Matches(names []string) bool {
	if p.Zombie() {
		return false
	}
	path, err := exe(p.PID)
	if err == nil && slices.Contains(names, filepath.Base(path)) {
		return true
	}
	argv, err := cmdline(p.PID)
	if err != nil || len(argv) == 0 {
		return false
	}
	return slices.ContainsFunc(argvNames(path, argv), func(t string) bool { return slices.Contains(names, t) })
}

// argvNames lists the names that an argument list gives a process.
func argvNames(exePath string, argv []string) []string {
	// A login shell's name starts with "-".
	zero := filepath.Base(strings.TrimPrefix(argv[0], "-"))
	names := []string{zero}
	lang := interpreter(filepath.Base(exePath))
	if lang == nil {
		lang = interpreter(zero)
	}
	if lang == nil {
		return names
	}
	script, module := lang.script(argv[1:])
	switch {
	case script == "":
		return names
	case module:
		return append(names, script)
	}
	base := filepath.Base(script)
	names = append(names, base)
	if ext := filepath.Ext(base); slices.Contains(scriptExts, ext) {
		names = append(names, strings.TrimSuffix(base, ext))
	}
	return names
}

var scriptExts = []string{
	".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx",
	".py", ".pyc", ".pyz", ".sh", ".bash", ".zsh", ".rb", ".pl",
}
