// Package vt is a terminal emulator: bytes in; screen, history, replies and
// events out. It has no locks, goroutines, clock or I/O: its owner serialises
// every call and delivers replies, events and pages.
//
// The layers, from the bottom: the parser (parser.go, csi.go, osc.go, dcs.go)
// turns bytes into actions; actions (print.go, cursor.go, erase.go, scroll.go,
// sgr.go, modes.go, rect.go …) change the screen (screen.go, row.go, cell.go);
// rows that leave the top of the primary screen go to the history (history.go,
// page.go). Readers (dump_*.go, paint.go, search.go, snapshot.go) change
// nothing.
//
// Its invariant: the state depends only on the bytes written and the sizes set,
// never on how the bytes were split, and memory is bounded for any input.
//
// Sources: ECMA-48 (5th edition), ECMA-35, DEC STD 070, the VT510 programmer's
// manual, xterm's ctlseqs, and for later inventions the terminal that
// introduced them, named where they are handled. Deliberate departures:
//
//   - Bytes 0x80–0x9F outside a character are errors of UTF-8 (U+FFFD), not C1
//     controls, until a program asks for 8-bit controls (S8C1T) or leaves UTF-8
//     (ESC % @). U+0080–U+009F encoded in UTF-8 are C1 controls, as in xterm.
//   - The clipboard is never read by a program (OSC 52 with "?").
//   - XTWINOPS changes nothing but the stack of titles; only reports are answered.
//   - VT52 mode and printing do not exist.
//   - kitty's unscroll (CSI Ps + T) takes back only rows that a smaller size of the
//     screen moved into the history.
package vt
