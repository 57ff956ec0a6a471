package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Streams is the three streams of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Console is the streams of a command, and how it prints on them.
type Console struct {
	Streams
	Color ColorMode // --color
	Cols  int       // width of the terminal if Out is not a file
	words []string  // that may name the command to build: see AddTo
}

// NewConsole returns the console of a command line.
func NewConsole(s Streams, args []string) Console {
	return Console{Streams: s, words: commandWords(args)}
}

// PrintJSON writes v as indented JSON.
func (c *Console) PrintJSON(v any) error {
	e := json.NewEncoder(c.Out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// Width is the number of columns of the terminal on standard output, or 0.
func (c *Console) Width() int {
	f, ok := c.Out.(*os.File)
	if !ok {
		return c.Cols
	}
	cols, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return cols
}

// Height is the number of rows of the terminal on standard output, or 0.
func (c *Console) Height() int {
	f, ok := c.Out.(*os.File)
	if !ok {
		return 0
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return rows
}

// Interactive reports whether standard input is a terminal.
func (c *Console) Interactive() bool {
	f, ok := c.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// OnTerminal reports whether standard output is a terminal.
func (c *Console) OnTerminal() bool {
	f, ok := c.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// ReadLine reads one line from standard input, in lower case; Ctrl-D is io.EOF. It
// returns when ctx ends; the reader then lives until the process exits.
func (c *Console) ReadLine(ctx context.Context) (string, error) {
	line, none := make(chan string, 1), make(chan error, 1)
	go func() {
		text, err := bufio.NewReader(c.In).ReadString('\n')
		if text == "" && err != nil {
			none <- err
			return
		}
		line <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case text := <-line:
		return text, nil
	case err := <-none:
		fmt.Fprintln(c.Err)
		return "", err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ReadKey reads one key from the terminal. It returns when ctx ends; the reader
// then lives until the process exits.
func (c *Console) ReadKey(ctx context.Context) (byte, error) {
	f, ok := c.In.(*os.File)
	if !ok {
		return 0, nil
	}
	old, err := term.MakeRaw(int(f.Fd()))
	if err != nil {
		return 0, err
	}
	defer func() { _ = term.Restore(int(f.Fd()), old) }() // best effort
	key := make(chan byte, 1)
	go func() {
		var b [1]byte
		_, _ = f.Read(b[:]) // the end of input is the key 0
		key <- b[0]
	}()
	select {
	case k := <-key:
		return k, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// maxMessage is the longest message on standard input, in bytes.
const maxMessage = 1 << 20

// ReadMessage reads standard input, up to maxMessage.
func (c *Console) ReadMessage() (string, error) {
	text, err := io.ReadAll(io.LimitReader(c.In, maxMessage+1))
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if len(text) > maxMessage {
		return "", Fail(ExitUsage, "write it to a file and nudge the path", "the text has more than %d bytes", maxMessage)
	}
	return string(text), nil
}

// Message takes a message from the arguments [TEXT|-]. If stdin, it is on standard input:
// see [Console.ReadMessage].
func (c *Console) Message(cmd *cobra.Command, args []string) (text string, stdin bool, err error) {
	switch {
	case len(args) == 0 && c.Interactive():
		return "", false, UsageError(cmd, "requires text, as an argument or on standard input")
	case len(args) == 0 || args[0] == "-":
		return "", true, nil
	}
	return args[0], false, nil
}

// ColorMode is the value of --color.
type ColorMode string

const (
	ColorAuto   ColorMode = "auto" // on a terminal, without NO_COLOR
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// Set implements pflag.Value.
func (m *ColorMode) Set(s string) error {
	switch v := ColorMode(s); v {
	case ColorAuto, ColorAlways, ColorNever:
		*m = v
		return nil
	}
	return fmt.Errorf("must be auto, always or never")
}

func (m *ColorMode) String() string { return string(*m) }

// Type implements pflag.Value.
func (m *ColorMode) Type() string { return "WHEN" }

// Colours reports whether text written to w may be coloured. NO_COLOR:
// https://no-color.org.
func (c *Console) Colours(w io.Writer) bool {
	switch c.Color {
	case ColorAlways:
		return true
	case ColorNever:
		return false
	}
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
