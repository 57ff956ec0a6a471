package tmux

import (
	"fmt"
	"strings"
)

// quoteLine makes one line of words for tmux's command parser, which is not a shell.
// Every byte that could have a meaning to it is written as an octal escape.
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

// encodeName makes a tmux session name, which cannot hold "." or ":", from a
// session's name. Different names stay different: ours never hold "+".
func encodeName(name string) string { return strings.ReplaceAll(name, ".", "+2e") }

// decodeName reverses encodeName. ok is false for a session that is not ours.
func decodeName(enc string) (name string, ok bool) {
	name = strings.ReplaceAll(enc, "+2e", ".")
	return name, !strings.Contains(name, "+")
}

// target addresses exactly one session.
func target(name string) string { return "=" + encodeName(name) + ":" }

// incarnation addresses one start of a session, whose window is named by its token.
// tmux's own ids restart with every server.
func incarnation(name, token string) string { return target(name) + "=" + token }

// ifSession returns the command that runs another one on a session, given its tmux
// name, if the format is true for it. Without the session tmux would evaluate the
// format for any other one, so the condition includes the name.
func ifSession(enc, format, command string) []string {
	to := "=" + enc + ":"
	return []string{"if-shell", "-F", "-t", to, "#{&&:#{==:#{session_name}," + enc + "}," + format + "}", quoteLine([]string{command, "-t", to})}
}
