package tmuxshim

import (
	"fmt"
	"strings"
)

// arguments are the flags and operands of one command.
type arguments struct {
	flags map[byte][]string // the values given, "" for one without
	rest  []string
}

func (a *arguments) has(flag byte) bool { return len(a.flags[flag]) > 0 }

// value is the last one given; "" if none.
func (a *arguments) value(flag byte) string {
	if v := a.flags[flag]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

func (a *arguments) arg(i int) string {
	if i < len(a.rest) {
		return a.rest[i]
	}
	return ""
}

// anything is the spec of a command that takes whatever it gets.
const anything = "*"

// parse reads arguments as getopt(3) does; letters followed by ':' in spec take a value.
// The errors are tmux's.
func parse(c *command, argv []string) (*arguments, error) {
	a := &arguments{flags: map[byte][]string{}}
	if c.spec == anything {
		a.rest = argv
		return a, nil
	}
	for len(argv) > 0 {
		word := argv[0]
		if word == "--" {
			argv = argv[1:]
			break
		}
		if len(word) < 2 || word[0] != '-' {
			break
		}
		argv = argv[1:]
		for i := 1; i < len(word); i++ {
			at := strings.IndexByte(c.spec, word[i])
			switch {
			case at < 0 || word[i] == ':':
				return nil, fmt.Errorf("command %s: unknown flag -%c", c.name, word[i])
			case at+1 == len(c.spec) || c.spec[at+1] != ':':
				a.flags[word[i]] = append(a.flags[word[i]], "")
				continue
			case i+1 < len(word):
				a.flags[word[i]] = append(a.flags[word[i]], word[i+1:])
			case len(argv) > 0:
				a.flags[word[i]] = append(a.flags[word[i]], argv[0])
				argv = argv[1:]
			default:
				return nil, fmt.Errorf("command %s: -%c expects an argument", c.name, word[i])
			}
			break
		}
	}
	a.rest = argv
	switch {
	case len(argv) < c.least:
		return nil, fmt.Errorf("command %s: too few arguments (need at least %d)", c.name, c.least)
	case c.most >= 0 && len(argv) > c.most:
		return nil, fmt.Errorf("command %s: too many arguments (need at most %d)", c.name, c.most)
	}
	return a, nil
}

// sequence cuts a command line at words that are ';' or end in one that is not escaped.
func sequence(argv []string) []line {
	var all []line
	var one []string
	for _, word := range argv {
		body, ends := strings.CutSuffix(word, ";")
		if strings.HasSuffix(body, `\`) && ends {
			one = append(one, body[:len(body)-1]+";")
			continue
		}
		if body != "" || !ends {
			one = append(one, body)
		}
		if ends && len(one) > 0 {
			all, one = append(all, line{words: one}), nil
		}
	}
	if len(one) > 0 {
		all = append(all, line{words: one})
	}
	return all
}
