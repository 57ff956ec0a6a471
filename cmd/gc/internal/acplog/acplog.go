// Package acplog prints what was said with an agent over ACP, from the transcript that
// its host writes.
//
// It only reads files, so it also works for an agent that has ended, and never keeps
// the host waiting. Only cmd/gc calls it.
package acplog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/clock"
)

// Log is the transcript in one directory.
type Log struct {
	Dir  string
	JSON bool // print entries as they are, one JSON object per line

	// There reads the entries after a number, of a transcript on another machine; nil: that
	// in Dir is read.
	There func(after int64, f func(transcript.Entry) error) error

	tail  *transcript.Tail
	after int64 // the number of the last entry, with There
}

// Exists reports whether there is anything to print.
func (l *Log) Exists() bool {
	enough := errors.New("there is an entry")
	there := l.There
	if there == nil {
		there = func(after int64, f func(transcript.Entry) error) error { return transcript.Read(l.Dir, after, f) }
	}
	err := there(0, func(transcript.Entry) error { return enough })
	return errors.Is(err, enough)
}

// Close closes the transcript.
func (l *Log) Close() error {
	if l.tail == nil {
		return nil
	}
	return l.tail.Close()
}

// Past prints what is there: the last n lines, or all if n is 0.
func (l *Log) Past(n int, print func(string) error) error {
	var lines []string
	err := l.read(func(line string) error {
		if lines = append(lines, line); n > 0 && len(lines) > 2*n+1000 {
			lines = append(lines[:0], lines[len(lines)-n:]...)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n > 0 && len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	for _, line := range lines {
		if err := print(line); err != nil {
			return err
		}
	}
	return nil
}

// The pauses of Follow.
const (
	look = 200 * time.Millisecond // between two looks at the transcript
	ask  = 2 * time.Second        // between two questions whether the agent has ended
)

// Follow prints what is added, until ended says so or ctx ends.
func (l *Log) Follow(ctx context.Context, ended func(context.Context) (bool, error), print func(string) error) error {
	for asked := time.Now(); ; {
		over := false
		if time.Since(asked) >= ask {
			var err error
			if over, err = ended(ctx); err != nil {
				return err
			}
			asked = time.Now()
		}
		if err := l.read(print); err != nil || over {
			return err
		}
		if err := clock.Sleep(ctx, look); err != nil {
			return err
		}
	}
}

// read passes the lines of new entries on.
func (l *Log) read(print func(string) error) error {
	next := l.next
	if l.There == nil {
		if l.tail == nil {
			l.tail = transcript.NewTail(l.Dir, 0)
		}
		next = l.tail.Next
	}
	return next(func(e transcript.Entry) error {
		for _, line := range l.lines(e) {
			if err := print(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// next calls f with the entries there that are new.
func (l *Log) next(f func(transcript.Entry) error) error {
	return l.There(l.after, func(e transcript.Entry) error {
		l.after = e.N
		return f(e)
	})
}

func (l *Log) lines(e transcript.Entry) []string {
	if !l.JSON {
		return Lines(e)
	}
	b, err := json.Marshal(e)
	if err != nil {
		return nil
	}
	return []string{string(b)}
}

// Lines returns an entry as a person reads it, without control characters.
func Lines(e transcript.Entry) []string {
	var out []string
	switch e.Kind {
	case "prompt":
		out = marked("› ", e.Text)
		if e.By != "" {
			out[0] += "  (" + e.By + ")"
		}
	case "message":
		out = marked("", e.Text)
	case "thought":
		out = marked("~ ", e.Text)
	case "plan":
		out = marked("[plan] ", e.Text)
	case "notice":
		out = marked("! ", e.Text)
	case "tool":
		out = tool(e)
	case transcript.Question:
		out = marked("? ", e.Text)
		out = append(out, "  "+strings.Join(append(append([]string{}, e.Paths...), "options: "+strings.Join(e.Options, ", ")), "; "))
	case transcript.Answer:
		out = marked("= ", e.Text)
		if e.By != "" {
			out[0] += "  (" + e.By + ")"
		}
	case transcript.Turn:
		out = []string{"— " + turn(e)}
	case transcript.Started:
		out = []string{"— started " + strings.TrimSpace(e.Text+" "+e.ID)}
	default:
		out = marked(e.Kind+": ", e.Text)
	}
	if e.Kind == "prompt" || e.Kind == transcript.Question || e.Kind == transcript.Answer || strings.HasPrefix(out[0], "— ") {
		out[0] = e.Time.Local().Format("15:04:05 ") + out[0]
	}
	for i := range out {
		out[i] = display.Line(strings.ReplaceAll(out[i], "\t", "    "))
	}
	return out
}

// marked splits text into lines, the first with a mark and the others below it.
func marked(mark, text string) []string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	indent := strings.Repeat(" ", len([]rune(mark)))
	for i := range lines {
		if i == 0 {
			lines[i] = mark + lines[i]
		} else {
			lines[i] = indent + lines[i]
		}
	}
	return lines
}

// mostOutput is how many lines of a tool's output are printed; --json has all that is
// kept.
const mostOutput = 20

func tool(e transcript.Entry) []string {
	head := "⏺ " + strings.TrimSpace(e.Tool+" "+e.Text)
	switch e.Status {
	case "failed":
		head += " ✗"
	case "completed", "":
	default:
		head += " (" + e.Status + ")"
	}
	out := marked("", head)
	if len(e.Paths) > 0 {
		out = append(out, "  "+strings.Join(e.Paths, ", "))
	}
	if strings.TrimSpace(e.Output) == "" {
		return out
	}
	lines := strings.Split(strings.TrimRight(e.Output, "\n"), "\n")
	more := len(lines) - mostOutput
	lines = lines[:min(len(lines), mostOutput)]
	out = append(out, marked("  ⎿ ", strings.Join(lines, "\n"))...)
	if more > 0 {
		out = append(out, fmt.Sprintf("    … %d more lines", more))
	}
	return out
}

// turn is "end_turn after 3.2s" or the error.
func turn(e transcript.Entry) string {
	what := e.StopReason
	if e.Error != "" {
		what = strings.TrimSpace(what + " " + e.Error)
	}
	took := time.Duration(e.Duration).Round(100 * time.Millisecond)
	return fmt.Sprintf("%s after %v", what, took)
}
