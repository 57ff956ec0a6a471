package tmux

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Peek implements runtime.Provider.
func (p *Provider) Peek(ctx context.Context, name string, lines int) (string, error) {
	above := fromTop
	if lines > 0 {
		above = strconv.Itoa(-lines)
	}
	text, err := p.capture(ctx, target(name), above)
	if err != nil {
		return "", fmt.Errorf("peek %s: %w", name, err)
	}
	return runtime.LastLines(text, lines), nil
}

// capture reads the screen, with lines of scrollback above it; fromTop: all of it,
// -n: n lines, 0: none.
func (p *Provider) capture(ctx context.Context, target string, above string) (string, error) {
	got, err := p.query(ctx, "capture-pane", "-p", "-t", target, "-S", above)
	if err != nil {
		return "", err
	}
	return strings.Join(got, "\n"), nil
}

// Where a capture begins.
const (
	fromTop    = "-"
	fromScreen = "0"
)

// ClearScrollback implements runtime.Provider.
func (p *Provider) ClearScrollback(ctx context.Context, name string) error {
	_, err := p.query(ctx, "clear-history", "-t", target(name))
	return driver.BestEffort("clear", name, err)
}

// ownName maps keys that tmux spells differently from the contract.
func ownName(key string) (name string, ok bool) {
	switch key {
	case "esc":
		return "Escape", true
	case "return":
		return "Enter", true
	case "backspace":
		return "BSpace", true
	case "backtab":
		return "BTab", true
	case "delete":
		return "DC", true
	case "insert":
		return "IC", true
	}
	return "", false
}

// keyName returns tmux's name of a key, and whether it is a plain character.
func keyName(key string) string {
	mods, base := "", key
	for len(base) > 2 && base[1] == '-' && strings.IndexByte("CMS", base[0]) >= 0 {
		mods, base = mods+base[:2], base[2:]
	}
	lower := strings.ToLower(base)
	if name, ok := ownName(lower); ok {
		base = name
	}
	if digits, ok := strings.CutPrefix(lower, "f"); ok {
		if n, err := strconv.Atoi(digits); err == nil && n > 12 { // xterm's F13 is S-F1
			mods, base = mods+"S-", "F"+strconv.Itoa(n-12)
		}
	}
	if strings.EqualFold(base, "tab") && strings.Contains(mods, "S-") {
		mods, base = strings.ReplaceAll(mods, "S-", ""), "BTab"
	}
	return mods + base
}

// SendKeys implements runtime.Provider.
func (p *Provider) SendKeys(ctx context.Context, name string, keys ...string) error {
	for _, k := range keys {
		if !runtime.KnownKey(k) {
			return fmt.Errorf("keys %s: %w: %q", name, runtime.ErrUnknownKey, k)
		}
	}
	v, err := p.live(ctx, name)
	if err == nil {
		err = p.sendKeys(ctx, name, v.target, keys)
	}
	return driver.BestEffort("keys", name, err)
}

func (p *Provider) sendKeys(ctx context.Context, name, target string, keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	release, err := p.lockInput(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	return p.pressKeys(ctx, target, keys)
}

func (p *Provider) pressKeys(ctx context.Context, target string, keys []string) error {
	words := []string{"send-keys", "-t", target, "--"}
	for _, k := range keys {
		words = append(words, keyName(k))
	}
	_, err := p.once(ctx, target, words...)
	return err
}

// lockInput makes the caller the only writer of the session: within this provider in
// the order of the calls, and against other processes.
func (p *Provider) lockInput(ctx context.Context, name string) (release func(), err error) {
	done, err := p.input.Enter(ctx, name)
	if err != nil {
		return nil, err
	}
	unlock, err := p.typing(ctx, name)
	if err != nil {
		done()
		return nil, err
	}
	return func() { unlock(); done() }, nil
}

// Times of a nudge, as in the multiplexer's.
const (
	dialogPatience = 30 * time.Second       // for a dialog to close
	dialogStep     = 250 * time.Millisecond // between two readings of it
	echoStep       = 15 * time.Millisecond  // between two readings of the screen
	echoLimit      = 2 * time.Second        // for the text to appear
	noEcho         = 300 * time.Millisecond // of an unchanged screen: the program does not echo
	burst          = 150 * time.Millisecond // agents treat an earlier Enter as a newline
	takenLimit     = 2 * time.Second        // for the text to leave its line after Enter
)

// Nudge implements runtime.Provider.
func (p *Provider) Nudge(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return p.nudge(ctx, name, content, dialogPatience)
}

// NudgeNow implements runtime.ImmediateNudgeProvider.
func (p *Provider) NudgeNow(ctx context.Context, name string, content []runtime.ContentBlock) (runtime.Receipt, error) {
	return p.nudge(ctx, name, content, 0)
}

func (p *Provider) nudge(ctx context.Context, name string, content []runtime.ContentBlock, patience time.Duration) (runtime.Receipt, error) {
	v, err := p.live(ctx, name)
	if err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	text, changed, err := driver.PlainText(ctx, p, name, content)
	if err != nil {
		return runtime.Receipt{}, fmt.Errorf("nudge %s: %w", name, err)
	}
	r, err := p.typeText(ctx, name, v.target, text, patience)
	if r.State != runtime.Blocked {
		r.Changed = changed
	}
	if gone(err) {
		return runtime.Receipt{State: runtime.Dead, Detail: "the session ended"}, nil
	}
	if err != nil {
		return r, fmt.Errorf("nudge %s: %w", name, err)
	}
	return r, nil
}

// typeText does the whole nudge: wait for dialogs, paste, wait for the echo, press
// Enter, check whether the text was taken. The caller holds the input.
func (p *Provider) typeText(ctx context.Context, name, target, text string, patience time.Duration) (runtime.Receipt, error) {
	release, err := p.lockPastDialogs(ctx, name, target, patience)
	if err != nil {
		return runtime.Receipt{}, err
	}
	if release == nil {
		return runtime.Receipt{State: runtime.Blocked, By: "dialog", Detail: "a dialog is open"}, nil
	}
	defer release()
	text = strings.TrimRight(strings.ReplaceAll(text, "\x00", ""), "\n")
	before, err := p.capture(ctx, target, fromScreen)
	if err != nil {
		return runtime.Receipt{}, err
	}
	if err := p.paste(ctx, target, text); err != nil {
		return runtime.Receipt{}, err
	}
	typed, shown, err := p.waitEcho(ctx, target, before, lastWord(text))
	if err != nil {
		return runtime.Receipt{State: runtime.Drafted, Detail: "typed, not submitted"}, err
	}
	standing := false
	if shown {
		line, err := p.cursorLine(ctx, target)
		if err != nil {
			return runtime.Receipt{State: runtime.Drafted, Detail: "typed, not submitted"}, err
		}
		standing = strings.Contains(line, lastWord(text))
	}
	if err := clock.Sleep(ctx, burst); err != nil {
		return runtime.Receipt{State: runtime.Drafted, Detail: "typed, not submitted"}, err
	}
	if err := p.pressKeys(ctx, target, []string{"Enter"}); err != nil {
		return runtime.Receipt{}, err
	}
	if !shown {
		return runtime.Receipt{State: runtime.Unverified, Detail: "typed and entered; the screen shows no effect"}, nil
	}
	return p.verify(ctx, target, standingAt{typed, lastWord(text), standing})
}

// lockPastDialogs takes the session's input when no dialog is open. While one is open
// others may type, to answer it. It returns nil if one is still open after patience.
func (p *Provider) lockPastDialogs(ctx context.Context, name, target string, patience time.Duration) (release func(), err error) {
	deadline := time.Now().Add(patience)
	for {
		if release, err = p.lockInput(ctx, name); err != nil {
			return nil, err
		}
		screen, err := p.capture(ctx, target, fromScreen)
		if err == nil && !driver.DialogOpen(screen) {
			return release, nil
		}
		release()
		if err != nil {
			return nil, err
		}
		if !time.Now().Before(deadline) {
			return nil, nil
		}
		if err := clock.Sleep(ctx, dialogStep); err != nil {
			return nil, err
		}
	}
}

var buffers atomic.Int64

// chunk is how many bytes of a paste go into one command.
const chunk = 16 << 10

// paste types text through a buffer, bracketed if the program asked for that.
func (p *Provider) paste(ctx context.Context, target, text string) error {
	if text == "" {
		return nil
	}
	release, err := p.noticing(ctx) // tmux 3.4 and later send notices of buffers
	if err != nil {
		return convert(err)
	}
	defer release()
	buffer := fmt.Sprintf("gc-%d-%d", time.Now().UnixNano(), buffers.Add(1))
	for first := true; len(text) > 0; first = false {
		part := text[:min(chunk, len(text))]
		text = text[len(part):]
		words := []string{"set-buffer", "-b", buffer}
		if !first {
			words = append(words, "-a")
		}
		if _, err := p.once(ctx, target, append(words, "--", part)...); err != nil {
			return err
		}
	}
	_, err = p.once(ctx, target, "paste-buffer", "-d", "-p", "-b", buffer, "-t", target)
	return err
}

// lastWord returns the end of the text as it must appear on a screen.
func lastWord(text string) string {
	f := strings.Fields(text)
	if len(f) == 0 {
		return ""
	}
	r := []rune(f[len(f)-1])
	return string(r[max(0, len(r)-12):])
}

// waitEcho waits until the screen shows the end of the text more often than before,
// and returns that screen; false if it will not.
func (p *Provider) waitEcho(ctx context.Context, target, before, end string) (screen string, shown bool, err error) {
	begin, last, since := time.Now(), before, time.Now()
	count := strings.Count(before, end)
	for {
		if screen, err = p.capture(ctx, target, fromScreen); err != nil {
			return "", false, err
		}
		if end != "" && strings.Count(screen, end) > count {
			return screen, true, nil
		}
		if screen != last {
			last, since = screen, time.Now()
		}
		if time.Since(since) > noEcho || time.Since(begin) > echoLimit {
			return screen, false, nil
		}
		if err := clock.Sleep(ctx, echoStep); err != nil {
			return "", false, err
		}
	}
}

// standingAt is where the typed text was before Enter.
type standingAt struct {
	screen   string
	end      string // of the text
	atCursor bool   // on the cursor's line; else anywhere on the screen
}

// left reports whether the text is gone from there.
func (s standingAt) left(screen, cursorLine string) bool {
	if s.atCursor {
		return !strings.Contains(cursorLine, s.end)
	}
	now := strings.Split(screen, "\n")
	stood := false
	for row, line := range strings.Split(s.screen, "\n") {
		if strings.Contains(line, s.end) {
			stood = true
			if row < len(now) && strings.Contains(now[row], s.end) {
				return false
			}
		}
	}
	return stood
}

// verify checks whether the text left its place after Enter.
func (p *Provider) verify(ctx context.Context, target string, typed standingAt) (runtime.Receipt, error) {
	begin := time.Now()
	for {
		line, err := p.cursorLine(ctx, target)
		screen := ""
		if err == nil && !typed.atCursor {
			screen, err = p.capture(ctx, target, fromScreen)
		}
		switch {
		case err != nil:
			return runtime.Receipt{}, err
		case typed.left(screen, line):
			return runtime.Receipt{State: runtime.Submitted}, nil
		case time.Since(begin) <= takenLimit:
		case typed.atCursor:
			return runtime.Receipt{State: runtime.Drafted, Detail: "the text is still on the cursor's line"}, nil
		default:
			return runtime.Receipt{State: runtime.Unverified, Detail: "typed and entered; the text did not move"}, nil
		}
		if err := clock.Sleep(ctx, echoStep); err != nil {
			return runtime.Receipt{}, err
		}
	}
}

// CursorLine implements runtime.CursorLineProvider.
func (p *Provider) CursorLine(ctx context.Context, name string) (string, error) {
	line, err := p.cursorLine(ctx, target(name))
	if err != nil {
		return "", fmt.Errorf("cursor of %s: %w", name, convert(err))
	}
	return line, nil
}

func (p *Provider) cursorLine(ctx context.Context, target string) (string, error) {
	at, err := p.query(ctx, "display-message", "-p", "-t", target, "#{cursor_y}")
	if err != nil || len(at) != 1 {
		return "", err
	}
	lines, err := p.query(ctx, "capture-pane", "-p", "-t", target, "-S", at[0], "-E", at[0])
	return strings.Join(lines, ""), err
}
