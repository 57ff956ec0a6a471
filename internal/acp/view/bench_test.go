package view_test

import (
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/view"
)

// stream paints a message that grows to so many bytes in so many steps.
func stream(text string, steps int) (painted int) {
	v := view.New(120, 40)
	items := []conversation.Item{{ID: "1", Kind: conversation.Message}}
	for i := range steps {
		items[0].Text = text[:len(text)*(i+1)/steps]
		painted += len(v.Paint(view.Frame{State: "working", Items: items}))
	}
	items[0].Done = true
	return painted + len(v.Paint(view.Frame{State: "idle", Items: items}))
}

func BenchmarkMessage(b *testing.B) {
	for _, c := range []struct {
		name, line string
	}{
		{"lines", strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2) + "\n"},
		{"wide", strings.Repeat("狐狸跳过了懒狗。", 5) + "\n"},
		{"one line", strings.Repeat("x", 99)},
	} {
		text := strings.Repeat(c.line, 1<<20/len(c.line))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				stream(text, 300)
			}
		})
	}
}

// TestMessageIsLinear: a long message is written once, however many paints it takes.
func TestMessageIsLinear(t *testing.T) {
	line := "The quick brown fox jumps over the lazy dog.\n"
	text := strings.Repeat(line, 1<<20/len(line))
	began := time.Now()
	if n := stream(text, 3000); n > 2*len(text) {
		t.Errorf("%d bytes are painted for a message of %d", n, len(text))
	}
	if d := time.Since(began); d > 10*time.Second {
		t.Errorf("took %v", d)
	}
}
