package nudge

import (
	"slices"
	"strings"

	"gascity.dev/gc/internal/rule"
	"gascity.dev/gc/internal/status"
)

func (sc Screen) dialogs() rule.DialogView { return status.DialogViewOf(sc.Term, sc.Program.Ready) }

// dialog returns the dialog on the screen, or a line that may belong to one.
func (sc Screen) dialog() (rule.Found, bool) {
	return sc.dialogs().Find(sc.Program.Dialogs)
}

// standing reports whether the end of a text stands on the cursor's line or wraps onto
// it. If the program paints its own cursor, it reports whether the text is in the
// composer.
func (sc Screen) standing(print string) bool {
	cursor := sc.Term.Cursor()
	above := ""
	if cursor.Row > 0 {
		above = squeeze(sc.Term.Line(cursor.Row - 1))
	}
	if stands(print, above, squeeze(sc.Term.Line(cursor.Row))) {
		return true
	}
	draft, ok := sc.drawnDraft()
	return ok && print != "" && strings.Contains(squeeze(draft), print)
}

// drawnDraft returns the text in the composer of a program that paints its own cursor. ok
// is false if no composer is visible or a menu replaces it.
func (sc Screen) drawnDraft() (text string, ok bool) {
	if sc.Program.Ready == "" || sc.Term.Cursor().Visible {
		return "", false
	}
	if found, ok := sc.dialog(); ok && len(found.Options) > 0 {
		return "", false
	}
	return sc.dialogs().Draft()
}

// HasFirst reports whether the message of the command line is on the screen, other than
// as a draft; false where the composer cannot be found.
func (sc Screen) HasFirst(first string) bool {
	shown := func(text string) int { return strings.Count(squeeze(text), first) }
	view := sc.dialogs()
	if sc.Program.Ready == "" {
		return shown(strings.Join(view.Lines[:view.Composer(-1)], "\n")) > 0
	}
	draft, _ := view.Draft()
	return shown(sc.Term.ScreenText()) > shown(draft)
}

// HasResumed reports whether a conversation that the program resumes is on the screen, all
// of it above the composer; false where the composer cannot be found.
func (sc Screen) HasResumed() bool {
	view := sc.dialogs()
	at := view.Prompt()
	if at < 0 {
		return false
	}
	said := func(line string) bool {
		line = strings.TrimSpace(line)
		return slices.ContainsFunc(sc.Program.Composer.Resumed, func(sign string) bool { return strings.HasPrefix(line, sign) })
	}
	return slices.ContainsFunc(view.Lines[:at], said) && !slices.ContainsFunc(view.Lines[at+1:], said)
}

// stands reports whether the end of a text is on the cursor's line or wraps onto it from
// the line above.
func stands(print, above, line string) bool {
	if print == "" {
		return false
	}
	if strings.Contains(line, print) {
		return true
	}
	if line == "" || len(line) >= len(print) {
		return false
	}
	return strings.HasSuffix(print, line) && strings.HasSuffix(above, print[:len(print)-len(line)])
}
