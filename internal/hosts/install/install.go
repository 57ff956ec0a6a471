// Package install places a gc program on a machine that may have none, through
// anything that runs sh there.
//
// The program at the destination is replaced in one step, and only by one that has
// the right checksum and has answered `version` there. The bytes travel on standard
// input; no argument has more than `sh`. It knows nothing of ssh or of the registry;
// the host commands call it.
package install

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"gascity.dev/gc/internal/shell"
)

// Program is a gc program in a file of this machine.
type Program struct {
	Path string
	Size int64
	sum  string
}

// Load reads the checksum of a program.
func Load(file string) (Program, error) {
	f, err := os.Open(file)
	if err != nil {
		return Program{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return Program{}, fmt.Errorf("read %s: %w", file, err)
	}
	return Program{Path: file, Size: n, sum: hex.EncodeToString(h.Sum(nil))}, nil
}

// Result is what Install did.
type Result struct {
	Path    string // of the program there
	Version string // that it reports
	Found   string // the path that the name gc has on the PATH of a command there; "" for none
	Same    bool   // it was there already, and nothing was sent
}

// Error reports what failed on the other machine; the old program is as it was.
type Error struct {
	Step string
	Text string // what the machine said
}

func (e *Error) Error() string {
	if e.Text == "" {
		return e.Step + " failed there"
	}
	return e.Step + ": " + e.Text
}

// Hint is the next step, or "".
func (e *Error) Hint() string {
	text := strings.ToLower(e.Text)
	switch {
	case strings.Contains(text, "no space left"), strings.Contains(text, "quota"), strings.Contains(text, "file too large"), strings.Contains(text, "file size limit"):
		return "free some space there, or install to another disk with --to PATH; the old program is as it was"
	case strings.Contains(text, "permission denied"), strings.Contains(text, "read-only"):
		return "--to PATH installs it where you can write and execute"
	case strings.Contains(text, "exec format"), strings.Contains(text, "not found"):
		return "the program must be a static one for that machine: make dist builds it; --from FILE selects it"
	}
	return ""
}

// Destination is the absolute path that to means there: relative to the home.
func (m Machine) Destination(to string) string {
	if path.IsAbs(to) {
		return path.Clean(to)
	}
	return path.Join(m.Home, strings.TrimPrefix(to, "~/"))
}

// Install sends the program. progress, which may be nil, gets the number of bytes
// sent so far. It uses up the shell.
func (s *Shell) Install(ctx context.Context, p Program, to string, progress func(sent int64)) (Result, error) {
	r := Result{Path: s.machine.Destination(to)}
	f, err := os.Open(p.Path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	if err := s.send(s.installScript(r.Path, p.sum)); err != nil {
		return r, s.failed(ctx, err)
	}
	word, rest, err := s.answer()
	if err == nil && word == "ready" {
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			_, _ = io.Copy(s.conn, &counted{f, progress, 0}) // the checksum shows a failure
			_ = s.conn.CloseWrite()
		}()
		word, rest, err = s.answer()
		_ = s.conn.Close()
		<-sent
	}
	switch {
	case err != nil:
		return r, s.failed(ctx, err)
	case word == "fail":
		step, text, _ := strings.Cut(rest, "|")
		return r, &Error{step, strings.TrimSpace(text)}
	case word != "same" && word != "done":
		return r, fmt.Errorf("unexpected answer %q", word)
	}
	r.Same = word == "same"
	says, found, _ := strings.Cut(rest, "|")
	_, r.Version, _ = strings.Cut(says, " ")
	r.Found = found
	return r, nil
}

// counted reports how much was read.
type counted struct {
	r        io.Reader
	progress func(int64)
	n        int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.n += int64(n); c.progress != nil {
		c.progress(c.n)
	}
	return n, err
}

// installScript is one compound command: the shell reads it whole before it runs it,
// so that what follows on its input is the program.
func (s *Shell) installScript(to, sum string) string {
	return strings.NewReplacer("@TO@", shell.Quote(to), "@SUM@", sum, "@A@", s.mark[:8], "@B@", s.mark[8:]).Replace(`{
to=@TO@; dir=${to%/*}; new=$dir/.gc-install.$$
say() { printf '%s%s %s\n' @A@ @B@ "$1"; }
fail() { rm -rf "$new"; say "fail $1|$(printf '%s' "$2" | tail -n 3 | tr '\n' ' ')"; exit 1; }
sum() {
	if command -v sha256sum; then set -- sha256sum
	elif command -v shasum; then set -- shasum -a 256
	else set -- openssl dgst -sha256 -r; fi >/dev/null 2>&1
	"$@" | cut -d ' ' -f 1
}
trap 'rm -rf "$new"' EXIT
trap 'exit 1' HUP INT TERM
umask 022
[ ! -d "$to" ] || fail "write $to" "it is a directory"
if [ -x "$to" ] && [ "$(sum <"$to" 2>/dev/null)" = @SUM@ ] && says=$("$to" version </dev/null 2>&1); then
	say "same $says|$(command -v gc)"; exit 0
fi
err=$(mkdir -p "$dir" 2>&1) || fail "create $dir" "$err"
err=$(mkdir "$new" 2>&1) || fail "create $new" "$err"
say ready
err=$({ cat >"$new/gc"; } 2>&1) || fail "write $new/gc" "$err"
got=$(sum <"$new/gc" 2>&1)
[ "$got" = @SUM@ ] || fail "check $new/gc" "its checksum is $got, want @SUM@"
err=$(chmod 755 "$new/gc" 2>&1) || fail "chmod $new/gc" "$err"
says=$("$new/gc" version </dev/null 2>&1) || fail "run $new/gc" "$says"
case $says in "gc "*|"gc-mcp "*|"gc-ui "*) ;; *) fail "run $new/gc" "version prints $says" ;; esac
err=$(mv -f "$new/gc" "$to" 2>&1) || fail "rename it to $to" "$err"
rm -rf "$new"
say "done $says|$(command -v gc)"
exit 0
}
`)
}
