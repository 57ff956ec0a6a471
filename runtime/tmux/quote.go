package tmux

import (
	"fmt"
	"strings"
)

// quoteLine makes one line of words for tmux's command parser. Every byte that
// could mean something to it is written as an octal escape.
func quoteLine(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteWord(&b, w)
	}
	return b.String()
}

func quoteWord(b *strings.Builder, w string) {
	b.WriteByte('"')
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9',
			strings.IndexByte(" -_=+./:,#{}@%!?*()<>[]|&^", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(b, `\%03o`, c)
		}
	}
	b.WriteByte('"')
}

// encodeName turns a session name of ours into one of tmux's, which cannot
// hold "." or ":". Different names stay different: "+" is in none of ours.
func encodeName(name string) string { return strings.ReplaceAll(name, ".", "+2e") }

// decodeName undoes encodeName. ok is false for a session that is not ours.
func decodeName(enc string) (name string, ok bool) {
	name = strings.ReplaceAll(enc, "+2e", ".")
	return name, !strings.Contains(name, "+")
}

// target names exactly one session.
func target(name string) string { return "=" + encodeName(name) + ":" }

// incarnation names one start of a session, which has its token as the name of
// its window. tmux's own ids begin anew with every server.
func incarnation(name, token string) string { return target(name) + "=" + token }

// ifSession is the command that carries out another one on a session, named as
// tmux does, when the format is true of it. Without the session tmux would ask
// the format of any other one, so that its name is in it.
func ifSession(enc, format, command string) []string {
	to := "=" + enc + ":"
	return []string{"if-shell", "-F", "-t", to, "#{&&:#{==:#{session_name}," + enc + "}," + format + "}", quoteLine([]string{command, "-t", to})}
}
