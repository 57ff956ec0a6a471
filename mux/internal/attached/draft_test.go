package attached

import (
	"testing"
	"time"

	"gascity.dev/gc/mux/keys"
)

// TestDraft: what a person types is a draft until it is submitted or discarded, in every
// encoding of keys. Other input never counts.
func TestDraft(t *testing.T) {
	for input, want := range map[string]struct{ draft, interrupt bool }{
		"hello":                         {draft: true},
		"hello\r":                       {},
		"hello\x03":                     {interrupt: true},
		"hello\x15":                     {},
		"hello\x1b[13u":                 {},
		"hello\x1b[99;5u":               {interrupt: true},
		"hello\x1b[99;5:3u":             {draft: true},
		"hello\x1b[27;5;99~":            {interrupt: true},
		"\x1b[104u":                     {draft: true},
		"\x1b[104;1:3u":                 {},
		"\x1b[200~a\x03\x1b[201~":       {draft: true},
		"\x1b[A\x1b[I\x1b[<0;1;1M":      {},
		"\x1b]11;rgb:0/0/0\x07\x1b[?1c": {},
		"\x1b[57442;5u":                 {},
	} {
		var d draft
		var scan keys.Scanner
		client := new(client)
		now := time.Now()
		interrupt := false
		scan.Feed([]byte(input), func(tok keys.Token) {
			interrupt = interrupt || isInterrupt(tok)
			d.typed(client, tok, now)
		})
		if _, stands := d.stands(now); stands != want.draft || interrupt != want.interrupt {
			t.Errorf("%q: draft %v, interrupt %v", input, stands, interrupt)
		}
		if _, stands := d.stands(now.Add(2 * draftAge)); stands {
			t.Errorf("%q: the draft stands for ever", input)
		}
	}
}
