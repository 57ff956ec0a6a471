package runtimetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"gascity.dev/gc/runtime"
)

// writeFifo releases a reader of the pipe. It waits for the reader.
func writeFifo(ctx context.Context, path string) error {
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(path, []byte("go\n"), 0) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		// Opening a reader of our own unblocks the writer.
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			<-done
			f.Close()
		}
		return ctx.Err()
	}
}

var inputCases = []testCase{
	{name: "peek shows what nudge sent", needs: []need{messages}, test: func(t *T) {
		name := t.idle()
		t.nudge(name, "hello out there")
		t.shows(name, "hello out there")
	}},
	{name: "a nudge is submitted with Enter", needs: []need{programs, messages}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "read line; echo \"$line\" > got; exec cat"})
		t.nudge(name, "the whole message")
		if got := t.file(filepath.Join(dir, "got")); got != "the whole message" {
			t.Fatalf("got %q", got)
		}
	}},
	{name: "what is a command to the program arrives as text", needs: []need{programs, keys}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{
			WorkDir: dir, Command: "echo ready; read a; read b; read c; printf '%s\\n' \"$a\" \"$b\" \"$c\" > got; exec cat",
			Composer: runtime.Composer{Commands: []string{"!", "/"}, Openers: []string{"@"}, Mark: "- "},
		})
		t.shows(name, "ready")
		for _, m := range []struct {
			content []runtime.ContentBlock
			changed bool
		}{
			{runtime.TextContent("!ls"), true},
			{runtime.RawContent("/clear"), false},
			{runtime.TextContent("see @main"), true},
		} {
			r, err := t.P.Nudge(t.Ctx, name, m.content)
			if err != nil || r.State != runtime.Submitted && r.State != runtime.Unverified || (r.Changed != "") != m.changed {
				t.Fatalf("%v: %+v, %v", m.content, r, err)
			}
		}
		if got := t.file(filepath.Join(dir, "got")); got != "- !ls\n/clear\nsee @main" && got != "- !ls\n/clear\nsee @main " {
			t.Fatalf("got %q", got)
		}
	}},
	{name: "wide characters arrive whole", needs: []need{messages}, test: func(t *T) {
		name := t.idle()
		text := "日本語 한국어 émoji 🎉 ± ẞ"
		t.nudge(name, text)
		t.shows(name, text)
	}},
	{name: "a text of 100 KB arrives whole", needs: []need{programs, keys}, test: func(t *T) {
		dir := t.TempDir()
		var b strings.Builder
		for i := range 1400 {
			fmt.Fprintf(&b, "%05d %s\n", i, strings.Repeat("x", 66))
		}
		text := b.String() + "the end"
		name := t.start(runtime.Config{WorkDir: dir, Command: "stty -echo; echo ready; awk '{print > \"copy\"} /the end/ {print \"done\"; fflush(); close(\"copy\")}'"})
		t.shows(name, "ready")
		t.nudge(name, text)
		t.shows(name, "done")
		if got := t.file(filepath.Join(dir, "copy")); got != text {
			t.Fatalf("%d of %d bytes arrived", len(got), len(text))
		}
	}},
	{name: "a text of many lines is one message", needs: []need{programs, keys}, test: func(t *T) {
		dir := t.TempDir()
		// bash's line editor turns on bracketed paste.
		name := t.start(runtime.Config{
			WorkDir: dir, Command: "exec bash --noprofile --rcfile " + t.script("rc", "PS1='prompt> '\n") + " -i",
			Env: map[string]string{"INPUTRC": t.script("inputrc", "set enable-bracketed-paste on\n")},
		})
		t.shows(name, "prompt>")
		t.nudge(name, "cat > out <<EOT\nfirst\nsecond\nEOT")
		t.eventually("both lines", func() error {
			data, err := os.ReadFile(filepath.Join(dir, "out"))
			if err == nil && string(data) != "first\nsecond\n" {
				err = fmt.Errorf("out holds %q", data)
			}
			return err
		})
	}},
	{name: "concurrent nudges never mix", needs: []need{programs, messages}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "echo ready; while read line; do echo \"$line\" >> lines; done"})
		t.shows(name, "ready")
		var wg sync.WaitGroup
		want := map[string]bool{}
		for i := range 8 {
			text := fmt.Sprintf("%d:%s", i, strings.Repeat(string(rune('a'+i)), 2000))
			want[text] = true
			wg.Go(func() { t.nudge(name, text) })
		}
		wg.Wait()
		t.eventually("eight whole lines", func() error {
			data, err := os.ReadFile(filepath.Join(dir, "lines"))
			if err != nil {
				return err
			}
			lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
			for _, l := range lines[:len(lines)-1] {
				if !want[l] {
					t.Fatalf("a mixed line: %.80q", l)
				}
			}
			if len(lines) != 8 || !want[lines[7]] {
				return fmt.Errorf("%d lines", len(lines))
			}
			return nil
		})
	}},
	{name: "a nudge of a missing session is ErrSessionNotFound", test: func(t *T) {
		if _, err := t.P.Nudge(t.Ctx, t.name(), runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("nudge: %v", err)
		}
	}},
	{name: "a nudge of an exited session is ErrSessionNotFound", needs: []need{programs}, test: func(t *T) {
		name := t.sh("exit 0")
		t.ends(name)
		if _, err := t.P.Nudge(t.Ctx, name, runtime.TextContent("x")); !errors.Is(err, runtime.ErrSessionNotFound) {
			t.Fatalf("nudge: %v", err)
		}
	}},
	{name: "a file block is named in the message", needs: []need{keys}, test: func(t *T) {
		name := t.idle()
		r, err := t.P.Nudge(t.Ctx, name, []runtime.ContentBlock{
			{Type: runtime.BlockText, Text: "look at"}, {Type: runtime.BlockFilePath, Path: "/some/where/notes.txt"},
		})
		if err != nil || r.State != runtime.Submitted && r.State != runtime.Unverified {
			t.Fatalf("%+v, %v", r, err)
		}
		t.shows(name, "look at")
		t.shows(name, "[File: notes.txt]")
	}},
	{name: "interrupt reaches the foreground program", needs: []need{programs, terminal}, test: func(t *T) {
		dir := t.TempDir()
		name := t.start(runtime.Config{WorkDir: dir, Command: "trap 'echo got > int' INT; echo up > up; while :; do read x; done"})
		t.file(filepath.Join(dir, "up"))
		t.must(t.P.Interrupt(t.Ctx, name))
		if got := t.file(filepath.Join(dir, "int")); got != "got" {
			t.Fatalf("%q", got)
		}
		t.running(name, true)
	}},
	{name: "interrupt of a missing session is nil", test: func(t *T) { t.must(t.P.Interrupt(t.Ctx, t.name())) }},
}

// rawCat shows every byte that arrives, in the notation of cat -v.
const rawCat = "stty raw -echo; printf ready; exec cat -v"

var keyCases = []testCase{
	{name: "keys arrive as the right bytes", needs: []need{programs, keys}, test: func(t *T) {
		name := t.sh(rawCat)
		t.shows(name, "ready")
		sent := []struct{ key, bytes string }{
			{"a", "a"}, {"Enter", "^M"}, {"Tab", "\t"}, {"Space", " "}, {"Escape", "^["}, {"BSpace", "^?"},
			{"C-c", "^C"}, {"C-a", "^A"}, {"M-x", "^[x"}, {"é", "M-CM-)"},
			{"Up", "^[[A"}, {"Down", "^[[B"}, {"Right", "^[[C"}, {"Left", "^[[D"},
			{"Home", "^[[H"}, {"End", "^[[F"}, {"PPage", "^[[5~"}, {"NPage", "^[[6~"}, {"DC", "^[[3~"}, {"IC", "^[[2~"},
			{"F1", "^[OP"}, {"F5", "^[[15~"}, {"F12", "^[[24~"}, {"S-Tab", "^[[Z"}, {"C-Up", "^[[1;5A"},
		}
		want := "ready"
		for _, s := range sent {
			t.must(t.P.SendKeys(t.Ctx, name, s.key))
			// "|" separates the bytes of the keys.
			t.must(t.P.SendKeys(t.Ctx, name, "|"))
			want += s.bytes + "|"
		}
		t.eventually("the bytes", func() error {
			got := strings.ReplaceAll(t.peek(name), "\n", "")
			// VT220 and xterm differ here; the terminfo entry decides.
			got = strings.NewReplacer("^[[1~", "^[[H", "^[[4~", "^[[F").Replace(got)
			if squeeze(got) != squeeze(want) {
				return fmt.Errorf("got %q, want %q", got, want)
			}
			return nil
		})
	}},
	{name: "keys of one call stay together and no Enter follows", needs: []need{programs, keys}, test: func(t *T) {
		name := t.sh(rawCat)
		t.shows(name, "ready")
		t.must(t.P.SendKeys(t.Ctx, name, "y", "e", "s", "Down", "!"))
		t.shows(name, "readyyes^[[B!")
		t.must(t.P.SendKeys(t.Ctx, name, "."))
		t.shows(name, "readyyes^[[B!.")
	}},
	{name: "arrows follow the application cursor mode", needs: []need{programs, keys, keyModes}, test: func(t *T) {
		name := t.sh("stty raw -echo; printf '\\033[?1hready'; exec cat -v")
		t.shows(name, "ready")
		t.must(t.P.SendKeys(t.Ctx, name, "Down"))
		t.shows(name, "ready^[OB")
	}},
	{name: "an unknown key is an error and nothing is sent", needs: []need{keys}, test: func(t *T) {
		name := t.idle()
		for _, key := range []string{"NoSuchKey", "", "F99", "C-", "Q-x"} {
			if err := t.P.SendKeys(t.Ctx, name, "z", key); !errors.Is(err, runtime.ErrUnknownKey) {
				t.Errorf("key %q: %v", key, err)
			}
		}
		t.nudge(name, "marker")
		t.shows(name, "marker")
		if strings.Contains(t.peek(name), "z") {
			t.Fatal("the keys before the unknown one were sent")
		}
	}},
	{name: "keys for a missing session are nil", test: func(t *T) { t.must(t.P.SendKeys(t.Ctx, t.name(), "Enter")) }},
	{name: "keys for an exited session are nil", needs: []need{programs}, test: func(t *T) {
		name := t.sh("exit 0")
		t.ends(name)
		t.must(t.P.SendKeys(t.Ctx, name, "Enter"))
	}},
}

// squeeze removes blanks: a tab may show as any number of them.
func squeeze(s string) string { return strings.Join(strings.Fields(s), "") }
