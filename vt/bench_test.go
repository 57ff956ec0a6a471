package vt_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/hinshun/vt10x"

	"gascity.dev/gc/vt"
)

// The workloads of the targets table, the same in every run: plain text, ls -lR
// --color, CJK text, and an agent's repaints.

const workloadSize = 1 << 20

func plainLoad() []byte {
	rng := rand.New(rand.NewPCG(1, 1))
	var b bytes.Buffer
	for b.Len() < workloadSize {
		for n := rng.IntN(12); n >= 0; n-- {
			fmt.Fprintf(&b, "%s ", words[rng.IntN(len(words))])
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

var words = strings.Fields("the terminal writes a line of plain text and goes on with the next one " +
	"internal/controller/plan.go:42: undefined: session ok PASS 0.013s building linking error warning note")

func lsLoad() []byte { return lsLines(workloadSize / 64) }

// lsLines is what ls -lR --color writes for some thousand files.
func lsLines(lines int) []byte {
	rng := rand.New(rand.NewPCG(2, 2))
	var b bytes.Buffer
	colors := []string{"", "01;34", "01;32", "01;36", "40;33;01", "01;31"}
	for i := range lines {
		if i%40 == 0 {
			fmt.Fprintf(&b, "\r\n./%s/%s:\r\ntotal %d\r\n", words[rng.IntN(len(words))], words[rng.IntN(len(words))], rng.IntN(4000))
			continue
		}
		name := fmt.Sprintf("%s-%d.%s", strings.Trim(words[rng.IntN(len(words))], ":"), rng.IntN(900), "go")
		if c := colors[rng.IntN(len(colors))]; c != "" {
			name = "\x1b[0m\x1b[" + c + "m" + name + "\x1b[0m"
		}
		fmt.Fprintf(&b, "-rw-r--r-- 1 root root %8d Nov %2d %02d:%02d %s\r\n",
			rng.IntN(1<<20), 1+rng.IntN(28), rng.IntN(24), rng.IntN(60), name)
	}
	return b.Bytes()
}

func cjkLoad() []byte {
	rng := rand.New(rand.NewPCG(3, 3))
	var b bytes.Buffer
	for b.Len() < workloadSize {
		for n := 5 + rng.IntN(40); n > 0; n-- {
			b.WriteRune(0x4e00 + rune(rng.IntN(0x5000)))
			if rng.IntN(12) == 0 {
				b.WriteString("，")
			}
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// agentLoad is an agent that repaints its box and status line in synchronized
// updates, as such programs do.
func agentLoad() []byte {
	rng := rand.New(rand.NewPCG(4, 4))
	var b bytes.Buffer
	spin := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"}
	for i := 0; b.Len() < workloadSize; i++ {
		b.WriteString("\x1b[?2026h\x1b[?25l\x1b[10;1H\x1b[J")
		for range 4 {
			fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm●\x1b[39m \x1b[1m%s\x1b[22m", rng.IntN(8)*32, rng.IntN(8)*32, 200, words[rng.IntN(len(words))])
			for range rng.IntN(9) {
				fmt.Fprintf(&b, " %s", words[rng.IntN(len(words))])
			}
			b.WriteString("\r\n")
		}
		fmt.Fprintf(&b, "\x1b[2m╭%s╮\x1b[22m\r\n", strings.Repeat("─", 60))
		fmt.Fprintf(&b, "\x1b[2m│\x1b[22m > \x1b[7m \x1b[27m%s\x1b[2m│\x1b[22m\r\n", strings.Repeat(" ", 56))
		fmt.Fprintf(&b, "\x1b[2m╰%s╯\x1b[22m\r\n", strings.Repeat("─", 60))
		fmt.Fprintf(&b, "\x1b[38;5;%dm%s\x1b[39m Working… (%ds · esc to interrupt)\x1b[K\x1b[?25h\x1b[?2026l",
			208+rng.IntN(4), spin[i%len(spin)], i/8)
	}
	return b.Bytes()
}

var workloads = []struct {
	name string
	make func() []byte
}{{"plain", plainLoad}, {"ls", lsLoad}, {"cjk", cjkLoad}, {"agent", agentLoad}}

// chunk is the size of each write: the most that a read of a PTY returns.
const chunk = 4096

func writeChunks(w func([]byte) (int, error), data []byte) {
	for len(data) > 0 {
		n := min(chunk, len(data))
		w(data[:n])
		data = data[n:]
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, load := range workloads {
		data := load.make()
		b.Run(load.name+"/vt", func(b *testing.B) {
			term, err := vt.New(vt.Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				writeChunks(term.Write, data)
				term.TakeEvents()
			}
		})
		b.Run(load.name+"/vt10x", func(b *testing.B) {
			term := vt10x.New(vt10x.WithSize(80, 24))
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				writeChunks(term.Write, data)
			}
		})
	}
}

// BenchmarkRatio alternates between both engines and reports how many times
// faster this one is than vt10x.
func BenchmarkRatio(b *testing.B) {
	for _, load := range workloads {
		data := load.make()
		b.Run(load.name, func(b *testing.B) {
			var ours, theirs time.Duration
			term, err := vt.New(vt.Options{})
			if err != nil {
				b.Fatal(err)
			}
			peer := vt10x.New(vt10x.WithSize(80, 24))
			for b.Loop() {
				start := time.Now()
				writeChunks(term.Write, data)
				ours += time.Since(start)
				start = time.Now()
				writeChunks(peer.Write, data)
				theirs += time.Since(start)
			}
			size := float64(len(data)) * float64(b.N) / 1e6
			b.ReportMetric(size/ours.Seconds(), "vt-MB/s")
			b.ReportMetric(size/theirs.Seconds(), "vt10x-MB/s")
			b.ReportMetric(theirs.Seconds()/ours.Seconds(), "times")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// heapInUse is the memory in use, in bytes.
func heapInUse() uint64 {
	var m goruntime.MemStats
	goruntime.GC()
	goruntime.GC()
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkMemory reports the memory of a terminal: blank, with a full screen,
// the same packed, and with ten thousand lines of ls -lR --color.
func BenchmarkMemory(b *testing.B) {
	full := bytes.Repeat([]byte("x"), 120*40)
	lines := lsLines(10_000)
	measure := func(name string, count int, fill func(*vt.Terminal)) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				terms := make([]*vt.Terminal, count)
				before := heapInUse()
				for i := range terms {
					terms[i], _ = vt.New(vt.Options{Cols: 120, Rows: 40})
					fill(terms[i])
				}
				after := heapInUse()
				b.ReportMetric(float64(after-before)/float64(count), "B/terminal")
				goruntime.KeepAlive(terms)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
	measure("blank", 1000, func(*vt.Terminal) {})
	measure("screen", 100, func(t *vt.Terminal) { t.Write(full) })
	measure("screen-packed", 100, func(t *vt.Terminal) { t.Write(full); t.Pack() })
	measure("history", 4, func(t *vt.Terminal) { writeChunks(t.Write, lines) })
}

func BenchmarkRead(b *testing.B) {
	term, err := vt.New(vt.Options{Cols: 120, Rows: 40})
	if err != nil {
		b.Fatal(err)
	}
	writeChunks(term.Write, lsLines(20_000))
	b.Run("ScreenText", func(b *testing.B) {
		for b.Loop() {
			term.ScreenText()
		}
	})
	b.Run("Text1000", func(b *testing.B) {
		for b.Loop() {
			term.Text(vt.TextOptions{Lines: 1000})
		}
	})
	b.Run("Screen", func(b *testing.B) {
		for b.Loop() {
			term.Screen()
		}
	})
	b.Run("AppendPaint", func(b *testing.B) {
		var buf []byte
		for b.Loop() {
			buf = term.AppendPaint(buf[:0], vt.PaintOptions{})
		}
	})
	b.Run("Resize", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if err := term.Resize(100+20*(i&1), 40); err != nil {
				b.Fatal(err)
			}
		}
	})
}
