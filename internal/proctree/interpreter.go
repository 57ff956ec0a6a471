package proctree

import (
	"slices"
	"strings"
)

// language describes how an interpreter reads its command line, as far as
// needed to find the script. Sources: each interpreter's manual page or --help.
type language struct {
	// short options in one word, each a letter:
	none  string // the code is in the arguments or on stdin: no script
	value string // takes a value: the rest of the word, or the next word
	next  string // takes the next word, whatever else the word contains
	rest  string // takes the rest of the word, which may be empty
	mod   string // takes a value, which is a module to run
	// long options, and words with a single dash like them:
	longNone  []string
	longValue []string
	// verbs that precede the script.
	verbs     []string
	verbsNone []string
	plus      bool // options may begin with + (shells)
}

// The languages, by interpreter.
var (
	nodeLanguage = language{
		none: "epsi", value: "rC",
		longNone:  []string{"--eval", "--print", "--interactive", "--test", "--run"},
		longValue: []string{"--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file", "--title", "--input-type", "--inspect-port", "--icu-data-dir", "--openssl-config"},
		verbs:     []string{"inspect"},
	}
	pythonLanguage = language{
		none: "c", value: "WXQ", mod: "m",
		longValue: []string{"--check-hash-based-pycs"},
	}
	shellLanguage = language{
		none: "cs", next: "oO", plus: true,
		longValue: []string{"--rcfile", "--init-file", "--emulate"},
	}
	bunLanguage = language{
		none: "ep", value: "rcd",
		longNone:  []string{"--eval", "--print"},
		longValue: []string{"--preload", "--require", "--import", "--cwd", "--config", "--define", "--env-file", "--loader", "--tsconfig-override", "--conditions", "--port"},
		verbs:     []string{"run", "x"},
		verbsNone: []string{"test", "repl", "install", "build", "exec"},
	}
	denoLanguage = language{
		value:     "cL",
		longValue: []string{"--config", "--log-level", "--import-map", "--lock", "--cert", "--location", "--seed", "--preload"},
		verbs:     []string{"run", "serve", "task"},
		verbsNone: []string{"eval", "repl", "test", "bench", "lsp"},
	}
	rubyLanguage = language{
		none: "e", value: "rICE", rest: "FKxi",
		longValue: []string{"--encoding", "--external-encoding", "--internal-encoding"},
	}
	perlLanguage = language{
		none: "eE", value: "I", rest: "mMFxdDCVi",
	}
)

// interpreter recognises an executable by its base name, which may have a
// version ("python3.11") or capitals (macOS: "Python").
func interpreter(base string) *language {
	switch strings.TrimRight(strings.ToLower(base), "0123456789.-") {
	case "node", "nodejs", "tsx", "ts-node":
		return &nodeLanguage
	case "python", "pypy":
		return &pythonLanguage
	case "sh", "bash", "dash", "zsh", "ksh", "ash", "mksh":
		return &shellLanguage
	case "bun", "bunx":
		return &bunLanguage
	case "deno":
		return &denoLanguage
	case "ruby":
		return &rubyLanguage
	case "perl":
		return &perlLanguage
	}
	return nil
}

// script returns the script in the arguments after argv[0], "" if there is
// none. module is set if it is a module's name, not a path.
func (l *language) script(args []string) (name string, module bool) {
	verbs := l.verbs
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return at(args, i+1), false
		case arg == "-":
			return "", false // the script is on stdin
		case strings.HasPrefix(arg, "-") || l.plus && strings.HasPrefix(arg, "+"):
			o := l.option(arg)
			switch {
			case o.none:
				return "", false
			case o.module:
				if o.value != "" {
					return o.value, true
				}
				return at(args, i+1), true
			}
			i += o.skip
		case slices.Contains(l.verbsNone, arg):
			return "", false
		case slices.Contains(verbs, arg):
			verbs = nil // the next word is the script even if it is called "run"
		default:
			return arg, false
		}
	}
	return "", false
}

// outcome is what one option word means for the search.
type outcome struct {
	none   bool   // there is no script
	skip   int    // number of following words that are values
	module bool   // a module follows, or is value
	value  string // the module's name if it is in the same word
}

func (l *language) option(arg string) outcome {
	name, _, hasValue := strings.Cut(arg, "=")
	if strings.HasPrefix(arg, "--") {
		switch {
		case slices.Contains(l.longNone, name):
			return outcome{none: true}
		case slices.Contains(l.longValue, name) && !hasValue:
			return outcome{skip: 1}
		}
		return outcome{}
	}
	return l.short(arg[1:])
}

// short parses a word of one-letter options.
func (l *language) short(word string) (o outcome) {
	for i, c := range word {
		last := i+1 == len(word)
		switch {
		case strings.ContainsRune(l.none, c):
			return outcome{none: true}
		case strings.ContainsRune(l.mod, c):
			return outcome{module: true, value: word[i+1:]}
		case strings.ContainsRune(l.next, c):
			o.skip++
		case strings.ContainsRune(l.value, c):
			if last {
				o.skip++
			}
			return o
		case strings.ContainsRune(l.rest, c):
			return o
		}
	}
	return o
}

func at(args []string, i int) string {
	if i < len(args) {
		return args[i]
	}
	return ""
}
