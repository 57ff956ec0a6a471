package install

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"gascity.dev/gc/internal/shell"
)

// Conn is the standard streams of a sh on another machine.
type Conn interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Machine is what a machine says about itself and its gc.
type Machine struct {
	OS, Arch string // as Go names them; empty if it has no name for them
	Uname    string // uname -sm
	Home     string
	User     string
	Bin      string // the word by which gc was found; "" if none was
	GC       string // its path
	Says     string // what it answers to version; another program unless it begins with "gc "
}

// Version is that of the gc there; "" if there is none.
func (m Machine) Version() string {
	v, ok := strings.CutPrefix(m.Says, "gc ")
	if !ok {
		return ""
	}
	return v
}

// Shell is a sh on another machine.
type Shell struct {
	conn    Conn
	in      *bufio.Reader
	mark    string // begins its answers
	machine Machine
}

// NoShellError reports a login that does not run the commands it gets.
type NoShellError struct {
	Output string // what it printed instead
}

func (e *NoShellError) Error() string {
	if e.Output == "" {
		return "the login there ended without running sh"
	}
	return "the login there did not run sh; it printed: " + e.Output
}

// Hint is the next step.
func (e *NoShellError) Hint() string {
	return "look for a forced command (command= in authorized_keys) or a login shell that ends early: ssh HOST sh"
}

// Open asks the shell about its machine and its gc: the first of the words, names or
// paths, that is a gc. It skips what a login prints first. The shell owns conn from now on; the end of ctx
// closes it.
func Open(ctx context.Context, conn Conn, words ...string) (*Shell, error) {
	b := make([]byte, 12)
	_, _ = rand.Read(b) // never fails
	s := &Shell{conn: conn, in: bufio.NewReader(conn), mark: "gc-" + hex.EncodeToString(b)}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = s.send(s.probeScript(words)) // the read tells why
	err := s.begin()
	for err == nil {
		var word, rest string
		if word, rest, err = s.answer(); err != nil || word == "end" {
			break
		}
		s.machine.set(word, rest)
	}
	if err != nil {
		err = s.failed(ctx, err)
		_ = conn.Close()
		return nil, err
	}
	return s, nil
}

// Machine is what Open learned.
func (s *Shell) Machine() Machine { return s.machine }

// Close ends the shell.
func (s *Shell) Close() error { return s.conn.Close() }

// probeScript builds the marker from two parts: a login that repeats its input does
// not answer by that.
func (s *Shell) probeScript(words []string) string {
	var bins []string
	for _, w := range words {
		bins = append(bins, shell.Quote(w))
	}
	return strings.NewReplacer("@BINS@", strings.Join(bins, " "), "@A@", s.mark[:8], "@B@", s.mark[8:]).Replace(`{
say() { printf '%s%s %s\n' @A@ @B@ "$1"; }
printf '\n'
say begin
say "uname $(uname -sm)"
say "home $HOME"
say "user $(id -un)"
for bin in @BINS@; do
	case $bin in "~/"*) path=$HOME/${bin#??} ;; *) path=$bin ;; esac
	gc=$(command -v "$path") || continue
	says=$("$gc" version </dev/null 2>/dev/null | head -n 1)
	say "bin $bin"; say "gc $gc"; say "says $says"
	case $says in "gc "*) break ;; esac
done
say end
}
`)
}

func (s *Shell) send(script string) error {
	_, err := io.WriteString(s.conn, script)
	return err
}

// maxNoise is how much a login may print before sh answers, in bytes; shown is how
// much of it an error has.
const (
	maxNoise = 64 << 10
	shown    = 300
)

// begin skips what is printed before the first answer.
func (s *Shell) begin() error {
	noise := ""
	for len(noise) < maxNoise {
		line, err := s.line(maxNoise)
		if err == nil && strings.TrimSpace(line) == s.mark+" begin" {
			return nil
		}
		noise += line
		if errors.Is(err, io.EOF) || err != nil && noise != "" {
			break
		}
		if err != nil {
			return err
		}
	}
	noise = strings.TrimSpace(noise)
	if len(noise) > shown {
		noise = noise[:shown] + "…"
	}
	return &NoShellError{noise}
}

// answer is the next line with the marker. What else is printed meanwhile, such as a
// broadcast, is skipped.
func (s *Shell) answer() (word, rest string, err error) {
	for range 1000 {
		line, err := s.line(maxNoise)
		if err != nil {
			return "", "", err
		}
		if text, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), s.mark+" "); ok {
			word, rest, _ := strings.Cut(text, " ")
			return word, strings.TrimSpace(rest), nil
		}
	}
	return "", "", errors.New("too much output before an answer")
}

// line reads one line of at most that many bytes.
func (s *Shell) line(most int) (string, error) {
	var b strings.Builder
	for b.Len() < most {
		c, err := s.in.ReadByte()
		if err != nil {
			return b.String(), err
		}
		b.WriteByte(c)
		if c == '\n' {
			break
		}
	}
	return b.String(), nil
}

// failed is the error of a connection; ctx ends it too.
func (s *Shell) failed(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("the connection ended: %w", io.ErrUnexpectedEOF)
	}
	return err
}

func (m *Machine) set(word, value string) {
	switch word {
	case "uname":
		m.Uname = value
		system, machine, _ := strings.Cut(value, " ")
		m.OS = map[string]string{"Linux": "linux", "Darwin": "darwin"}[system]
		m.Arch = map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[machine]
	case "home":
		m.Home = value
	case "user":
		m.User = value
	case "bin":
		m.Bin = value
	case "gc":
		m.GC = value
	case "says":
		m.Says = value
	}
}
