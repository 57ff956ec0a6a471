package exec

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Times of watching for what a script typed.
const (
	seenLimit = 2 * time.Second        // for the text to be submitted
	seenStill = 600 * time.Millisecond // of an unchanged screen: the text was not taken
	seenStep  = 50 * time.Millisecond  // between two readings: each is a process
)

const unsaid = "the session script does not say what became of it, and the screen does not show it"

// witness reads the screen before and after a script types a message, for scripts
// that print no receipt.
type witness struct {
	p      *Provider
	name   string
	text   string
	before string
	blind  bool // the screen cannot be read

	missing bool // there was no session
}

// newWitness reads the screen, unless the script is known to print receipts.
func (p *Provider) newWitness(ctx context.Context, name, text string) *witness {
	w := &witness{p: p, name: name, text: text, blind: p.receipts.Load() || ending(text) == ""}
	if w.blind {
		return w
	}
	screen, err := p.screen(ctx, name, defaultRows)
	w.before, w.blind, w.missing = screen, err != nil, gone(err)
	return w
}

// verdict reads the screen until it shows the message submitted. Otherwise the
// receipt is Unverified; nothing is typed again.
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
		if clock.Sleep(ctx, seenStep) != nil {
			return unseen
		}
	}
}

// submitted reports whether the screen shows that a message was taken: its end is
// there more often than before, and not only where a draft would be. With a ready
// prefix, a prompt must be below it. Without one, the next line must be new (in a
// composer it is the frame), or the last line must be a shell's prompt, or the end
// must be there twice: an echo, and an answer.
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

// below returns the lines, without blank ones, below the last place of end, a
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

// nonBlank returns the trimmed nonblank lines of a screen.
func nonBlank(screen string) (lines []string) {
	for line := range strings.Lines(screen) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// endingRunes is how many runes of a message's end are searched for.
const endingRunes = 24

// ending returns the end of a message as it must appear, squeezed.
func ending(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	r := []rune(squeeze(text))
	return string(r[max(0, len(r)-endingRunes):])
}

// squeeze removes white space and frames, which wrapping changes.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || strings.ContainsRune("│┃║|", r) {
			return -1
		}
		return r
	}, s)
}
