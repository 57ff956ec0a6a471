package vt_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"gascity.dev/gc/vt"
)

// clusters are characters that the two width policies handle differently, alone
// or next to each other.
var clusters = []string{
	"👨\u200d👩\u200d👧", "🇩", "🇩🇪", "❤\ufe0f", "e\u0301", "\u0301", "\u1100", "\u1161", "\u11a8", "\uac00", "👍🏽", "🏽", "क्ष", "\u0903",
	"\u0600", "漢", "a", "b c", "é", "\x1b[2D", "\x1b[1C", "\r", "\n", "\x1b[44m", "\x1b[m", "\x1b[K", "\x1b[2@", "\x1b[P",
}

// drawClusters draws text of such characters; with policies it changes the
// policy along the way.
func drawClusters(t *rapid.T, policies bool, limit int) []byte {
	var b bytes.Buffer
	for range rapid.IntRange(0, limit).Draw(t, "clusters") {
		b.WriteString(rapid.SampledFrom(clusters).Draw(t, "cluster"))
		if policies && rapid.IntRange(0, 7).Draw(t, "change") == 0 {
			b.WriteString(rapid.SampledFrom([]string{"\x1b[?2027h", "\x1b[?2027l"}).Draw(t, "policy"))
		}
	}
	return b.Bytes()
}

// TestPolicyTouchesNothing: a change of the width policy leaves what was drawn
// as it is, at every size.
func TestPolicyTouchesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		input := append([]byte("\x1b[?2027l\x1b[?2027h"), drawClusters(t, true, 60)...)
		one, other := mustNewRapid(t, o), mustNewRapid(t, o)
		one.Write(input)
		other.Write(input)
		for range rapid.IntRange(1, 4).Draw(t, "resizes") {
			other.Write([]byte(rapid.SampledFrom([]string{"\x1b[?2027h", "\x1b[?2027l"}).Draw(t, "policy")))
			if a, b := one.Text(vt.TextOptions{}), other.Text(vt.TextOptions{}); a != b {
				t.Fatalf("%+v %q: %q became %q", o, input, a, b)
			}
			cols, rows := rapid.IntRange(2, 40).Draw(t, "cols"), rapid.IntRange(1, 12).Draw(t, "rows")
			if one.Resize(cols, rows) != nil || other.Resize(cols, rows) != nil {
				t.Fatal("resize failed")
			}
		}
		if a, b := one.Text(vt.TextOptions{}), other.Text(vt.TextOptions{}); a != b {
			t.Fatalf("%+v %q: resized, %q became %q", o, input, a, b)
		}
	})
}

// TestPolicyRoundTrip: a dump and a snapshot have the same rows under any
// policies, and later output has the same effect.
func TestPolicyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := drawTerminal(t)
		term := mustNewRapid(t, o)
		input := append([]byte("\x1b[?2027l\x1b[?2027h"), drawClusters(t, true, 60)...)
		term.Write(input)
		if d := checkDump(term, o, nil); d != "" {
			t.Fatalf("%+v %q:\n%s", o, input, d)
		}
		back, err := vt.Restore(term.Snapshot(), o)
		if err != nil {
			t.Fatal(err)
		}
		if d := diffStates(stateOf(term), stateOf(back)); d != "" {
			t.Fatalf("%+v %q: restored:\n%s", o, input, d)
		}
		more := drawClusters(t, true, 20)
		term.Write(more)
		back.Write(more)
		if a, b := term.Text(vt.TextOptions{}), back.Text(vt.TextOptions{}); a != b {
			t.Fatalf("%+v %q, then %q: %q, restored %q", o, input, more, a, b)
		}
	})
}
