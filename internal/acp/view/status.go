package view

import (
	"fmt"
	"strconv"
	"strings"

	"gascity.dev/gc/internal/acp/conversation"
)

// status returns the status line.
func (v *View) status(f *Frame) line {
	var parts []string
	for _, part := range []string{f.Line, f.State, f.Mode, f.Model, context(f.Usage), cost(f.Usage), queued(f.Queue)} {
		if part = oneLine(part, headlineBytes); part != "" {
			parts = append(parts, part)
		}
	}
	return line{text: cut("  "+strings.Join(parts, " · "), v.cols), style: dim}
}

// context returns how much of the context is used: "12k/200k", or "12k" if its size is
// not known.
func context(u conversation.Usage) string {
	if u.Used <= 0 {
		return ""
	}
	if u.Size <= 0 {
		return tokens(u.Used)
	}
	return tokens(u.Used) + "/" + tokens(u.Size)
}

func tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 999_500:
		return fmt.Sprintf("%dk", (n+500)/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

func cost(u conversation.Usage) string {
	switch {
	case u.Currency == "" || u.Cost < 0.005:
		return ""
	case u.Currency == "USD":
		return fmt.Sprintf("$%.2f", u.Cost)
	}
	return fmt.Sprintf("%.2f %s", u.Cost, u.Currency)
}

func queued(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n) + " queued"
}
