//go:build e2e

package keys

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tmuxDiffers are keys for which tmux sends something else on purpose: it plays
// a terminal of its own (TERM=tmux), not xterm.
var tmuxDiffers = map[string]string{
	"Home": "\x1b[1~", "End": "\x1b[4~", // tmux's own terminal description
	"KPEnter": "\n",
}

// TestKeysAgainstTmux compares the legacy forms with what tmux send-keys sends.
func TestKeysAgainstTmux(t *testing.T) {
	for _, mode := range []struct {
		name, set string
		modes     Modes
	}{
		{"reset", "", Modes{}},
		{"application", `\033[?1h\033=`, Modes{AppCursor: true, AppKeypad: true}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			tm := startTmuxReader(t, mode.set)
			for _, key := range tmuxKeys() {
				got, err := Encode(nil, []string{key}, mode.modes)
				if err != nil {
					t.Error(err)
					continue
				}
				want := string(got)
				if differs, ok := tmuxDiffers[key]; ok && !(mode.modes.AppKeypad && strings.HasPrefix(key, "KP")) {
					want = differs
				}
				if sent := tm.send(key); sent != want {
					t.Errorf("%s: tmux sends %q, gc %q", key, sent, got)
				}
			}
		})
	}
}

// tmuxKeys are the keys that tmux 3.3 knows, by the names both know.
func tmuxKeys() []string {
	keys := []string{"Enter", "Tab", "BTab", "Escape", "Space", "BSpace", "Home", "End",
		"KP0", "KP1", "KP2", "KP3", "KP4", "KP5", "KP6", "KP7", "KP8", "KP9", "KP/", "KP*", "KP-", "KP+", "KP.", "KPEnter",
		"C-Space", "C-@", "C-[", `C-\`, "C-]", "C-^", "C-_", "C-?", "C-2", "C-/", "^C", "^[", "^?",
		"M-Enter", "M-Tab", "M-Escape", "M-BSpace", "M-Space", "C-M-Space", "C-M-a", "M-A", "é", "M-é", "世", "^"}
	for c := 'a'; c <= 'z'; c++ {
		keys = append(keys, string(c), "C-"+string(c), "M-"+string(c), "C-"+strings.ToUpper(string(c)))
	}
	for i := 1; i <= 12; i++ {
		keys = append(keys, fmt.Sprintf("F%d", i))
	}
	named := []string{"Up", "Down", "Left", "Right", "PageUp", "PageDown", "PPage", "NPage", "IC", "DC", "F1", "F3", "F5", "F12"}
	for _, mods := range []string{"", "S-", "M-", "S-M-", "C-", "C-S-", "C-M-", "C-M-S-"} {
		for _, k := range named {
			keys = append(keys, mods+k)
		}
	}
	for _, mods := range []string{"S-", "M-", "C-", "C-M-S-"} {
		keys = append(keys, mods+"Home", mods+"End")
	}
	return keys
}

// tmuxReader is a private tmux whose one pane writes what it reads to a pipe.
type tmuxReader struct {
	t      *testing.T
	socket string
	out    *os.File
}

// startTmuxReader starts one; set, for printf, sets the modes.
func startTmuxReader(t *testing.T, set string) *tmuxReader {
	t.Helper()
	dir := t.TempDir()
	r := &tmuxReader{t: t, socket: filepath.Join(dir, "s")}
	fifo := filepath.Join(dir, "out")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Opened for both, so that opening does not block.
	out, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	r.out = out
	t.Cleanup(func() { out.Close() })
	// The cursor position report arrives after the modes are set.
	pane := fmt.Sprintf(`stty raw -echo; printf '%s\033[6n'; exec cat >%s`, set, fifo)
	r.tmux("-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", pane)
	t.Cleanup(func() { exec.Command("tmux", "-S", r.socket, "kill-server").Run() })
	r.read("R")
	return r
}

func (r *tmuxReader) tmux(args ...string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "tmux", append([]string{"-S", r.socket}, args...)...).CombinedOutput(); err != nil {
		r.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
}

// send presses a key and returns what the pane's program read.
func (r *tmuxReader) send(key string) string {
	r.t.Helper()
	const end = "|end|"
	r.tmux("send-keys", "--", key)
	r.tmux("send-keys", "-l", "--", end)
	return strings.TrimSuffix(r.read(end), end)
}

// read returns what comes through the fifo up to and including end.
func (r *tmuxReader) read(end string) string {
	r.t.Helper()
	r.out.SetReadDeadline(time.Now().Add(10 * time.Second))
	var all []byte
	for !bytes.HasSuffix(all, []byte(end)) {
		buf := make([]byte, 1)
		if _, err := io.ReadFull(r.out, buf); err != nil {
			r.t.Fatalf("read %q, then %v", all, err)
		}
		all = append(all, buf...)
	}
	return string(all)
}
