package exec

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Times of a look for what a script typed.
const (
	seenLimit = 2 * time.Second        // for the text to be seen as submitted
	seenStill = 600 * time.Millisecond // of an unchanged screen: it will not be
	seenStep  = 50 * time.Millisecond  // between two looks: each is a process
)

const unsaid = "the session script does not say what became of it, and the screen does not show it"

// witness looks at the screen before and after a script types a message, for
// scripts that print no receipt.
type witness struct {
	p      *Provider
	name   string
	text   string
	before string
	blind  bool // there is nothing to look at

	missing bool // there was no session
}

// newWitness looks at the screen, unless the script is known to print receipts.
func (p *Provider) newWitness(ctx context.Context, name, text string) *witness {
	w := &witness{p: p, name: name, text: text, blind: p.receipts.Load() || ending(text) == ""}
	if w.blind {
		return w
	}
	screen, err := p.screen(ctx, name, defaultRows)
	w.before, w.blind, w.missing = screen, err != nil, gone(err)
	return w
}

// verdict looks until the message is seen to be submitted. What cannot be seen
// is Unverified; nothing is typed again.
func (w *witness) verdict(ctx context.Context) runtime.Receipt {
	unseen := runtime.Receipt{State: runtime.Unverified, Detail: unsaid}
	if w.blind {
		return unseen
	}
	prefix, err := w.p.GetMeta(ctx, w.name, readyMeta)
	if err != nil {
		return unseen
	}
	last, begin, since := "", time.Now(), time.Now()
	for {
		screen, err := w.p.screen(ctx, w.name, defaultRows)
		switch {
		case gone(err):
			return runtime.Receipt{State: runtime.Dead, Detail: "the session has ended"}
		case err != nil:
			return unseen
		case submitted(w.before, screen, w.text, prefix):
			return runtime.Receipt{State: runtime.Submitted, Detail: "seen on the screen"}
		}
		if screen != last {
			last, since = screen, time.Now()
		}
		if time.Since(since) >= seenStill || time.Since(begin) >= seenLimit {
			return unseen
		}
		select {
		case <-ctx.Done():
			return unseen
		case <-time.After(seenStep):
		}
	}
}

// submitted reports whether the screen shows that a message was taken: its end
// is there more often than before, and not only where it would stand as a
// draft. With a ready prefix, a prompt must stand below it. Without one, the
// next line must be new (in a composer it is the frame), or the last one a
// shell's prompt, or the end must stand there twice: an echo, and an answer.
func submitted(before, after, text, prefix string) bool {
	end := ending(text)
	more := strings.Count(squeeze(after), end) - strings.Count(squeeze(before), end)
	if more <= 0 {
		return false
	}
	lines := below(after, end)
	if prefix != "" {
		return slices.ContainsFunc(lines, func(line string) bool { return driver.PromptOpen(line, prefix) })
	}
	if more > 1 {
		return true
	}
	if len(lines) == 0 {
		return false
	}
	had := slices.ContainsFunc(nonBlank(before), func(line string) bool { return line == lines[0] })
	return !had || strings.ContainsAny(lines[len(lines)-1][len(lines[len(lines)-1])-1:], "$#%")
}

// below are the lines, without blank ones, below the last place of end, a
// squeezed text that may be wrapped.
func below(screen, end string) []string {
	lines := nonBlank(screen)
	for first := range lines {
		if !strings.Contains(squeeze(strings.Join(lines[first:], "\n")), end) {
			return lines[first:]
		}
	}
	return nil
}

// nonBlank are the lines of a screen that show something, trimmed.
func nonBlank(screen string) (lines []string) {
	for line := range strings.Lines(screen) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// endingRunes is how much of a message's end is looked for.
const endingRunes = 24

// ending is the end of a message as it must show up, squeezed.
func ending(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	r := []rune(squeeze(text))
	return string(r[max(0, len(r)-endingRunes):])
}

// squeeze drops white space and frames, which wrapping changes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("│┃║|", r) {
			return -1
		}
		return r
	}, s)
}
