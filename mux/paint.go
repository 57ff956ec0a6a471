package mux

import (
	"strings"

	"gascity.dev/gc/vt"
)

type queryFilter struct{}

func (f *queryFilter) Filter(dst, src []byte) []byte { return append(dst, src...) }

type paintOptions struct {
	Cols, Rows int
	Scrollback bool
}

func appendPaint(dst []byte, t *vt.Terminal, o paintOptions) []byte {
	dst = append(dst, "\x1b[H\x1b[2J"...)
	return append(dst, strings.ReplaceAll(t.ScreenText(), "\n", "\r\n")...)
}

func ansiDump(t *vt.Terminal) []byte     { return appendPaint(nil, t, paintOptions{}) }
func pendingBytes(t *vt.Terminal) []byte { return nil }
