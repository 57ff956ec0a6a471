package policy

import (
	"path"
	"slices"
	"strings"
)

// cleanDir returns an absolute directory without a trailing slash; "" if dir is not
// absolute.
func cleanDir(dir string) string {
	if !path.IsAbs(dir) {
		return ""
	}
	return path.Clean(dir)
}

// matchPath reports whether a pattern matches a path for an allow rule. A path that
// is not absolute or has ".." in it never does: through a symbolic link it may lead
// elsewhere than its text says. A relative pattern matches below the work directory
// only.
func matchPath(pattern, name, workDir string) bool {
	return path.IsAbs(name) && !slices.Contains(strings.Split(name, "/"), "..") && touchesPath(pattern, name, workDir)
}

// touchesPath reports whether a pattern matches a path for a deny rule: ".." is
// resolved as text, and a relative path is one below the work directory.
func touchesPath(pattern, name, workDir string) bool {
	if !path.IsAbs(name) {
		name = path.Join(workDir, name)
	}
	name, pattern = path.Clean(name), path.Clean(pattern)
	if !path.IsAbs(pattern) {
		var ok bool
		if name, ok = below(name, workDir); !ok {
			return false
		}
	}
	return glob(strings.Split(pattern, "/"), strings.Split(name, "/"))
}

// below returns a path relative to a directory; "." is the directory itself.
func below(name, dir string) (rel string, ok bool) {
	if dir == "" {
		return "", false
	}
	if name == dir {
		return ".", true
	}
	return strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// glob matches the elements of a path: ** is any number of them, and within one
// element * is any text and ? one character.
func glob(pattern, elements []string) bool {
	for len(pattern) > 0 && pattern[0] != "**" {
		if len(elements) == 0 || !wildcard(pattern[0], elements[0]) {
			return false
		}
		pattern, elements = pattern[1:], elements[1:]
	}
	if len(pattern) == 0 {
		return len(elements) == 0
	}
	for len(pattern) > 1 && pattern[1] == "**" {
		pattern = pattern[1:]
	}
	for i := range len(elements) + 1 {
		if glob(pattern[1:], elements[i:]) {
			return true
		}
	}
	return false
}

// wildcard matches text: * is any text, ? one character. It takes time in proportion
// to the product of both lengths, at worst.
func wildcard(pattern, text string) bool {
	p, t := []rune(pattern), []rune(text)
	star, retry := -1, 0 // the last *, and where the text after what it took begins
	i, j := 0, 0
	for j < len(t) {
		switch {
		case i < len(p) && p[i] == '*':
			star, retry = i, j
			i++
		case i < len(p) && (p[i] == '?' || p[i] == t[j]):
			i++
			j++
		case star >= 0:
			retry++
			i, j = star+1, retry
		default:
			return false
		}
	}
	return strings.Trim(string(p[i:]), "*") == ""
}
