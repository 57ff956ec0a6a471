package vt_test

import (
	"bytes"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"testing"

	"gascity.dev/gc/vt"
)

// The fuzz targets. Their seeds are the PUSH lines of the transcripts, the
// recordings, and testdata/fuzz. One hour of one target:
//
//	go test ./vt -run '^$' -fuzz '^FuzzWrite$' -fuzztime 1h
//
// A target fails on a panic, on a hang (the fuzzer's own limit), on memory that
// grows beyond fuzzMemory, and on a broken invariant.

// fuzzMemory is the most a 20x6 terminal with 200 lines of history may hold
// after any input, in bytes: strings, links, clusters, replies and events at
// their limits.
const fuzzMemory = 12 << 20

var fuzzOptions = vt.Options{Cols: 20, Rows: 6, HistoryLines: 200, HistoryBytes: 1 << 20}

// addSeeds adds the transcripts, one input per case, and the first bytes of
// each recording.
func addSeeds(f *testing.F) {
	f.Helper()
	for _, s := range loadScripts(f) {
		var input []byte
		for _, st := range s.step {
			input = append(input, st.data...)
		}
		if len(input) < 4<<10 {
			f.Add(input)
		}
	}
	files, err := filepath.Glob("testdata/recordings/*.raw")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw[:min(len(raw), 2<<10)])
	}
}

func FuzzWrite(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		term := mustNew(t, fuzzOptions)
		term.Write(input)
		checkShape(t, term)
		term.Screen()
		term.ANSI()
		checkBounds(t, term)
	})
}

// checkBounds checks the limits of what a program can make a terminal keep.
func checkBounds(t *testing.T, term *vt.Terminal) {
	t.Helper()
	if n := len(term.TakeReplies()); n > 1<<20 {
		t.Fatalf("%d bytes of replies", n)
	}
	if n := len(term.TakeEvents()); n > 1<<16 {
		t.Fatalf("%d events", n)
	}
	if n := len(term.Title()); n > 1<<16 {
		t.Fatalf("title of %d bytes", n)
	}
	if n := term.HistoryLen(); n > 200*20 {
		t.Fatalf("%d physical lines of history", n)
	}
	if n := len(term.Pending()); n > 4<<20 {
		t.Fatalf("%d bytes pending", n)
	}
}

// FuzzSplit compares writes that are cut differently. The input comes twice, so that the
// second time finds what was cached the first time; with one bit changed.
func FuzzSplit(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		input = againChanged(input)
		whole, bytewise, halves := mustNew(t, fuzzOptions), mustNew(t, fuzzOptions), mustNew(t, fuzzOptions)
		whole.Write(input)
		for i := range input {
			bytewise.Write(input[i : i+1])
		}
		halves.Write(input[:len(input)/2])
		halves.Write(input[len(input)/2:])
		want := stateOf(whole)
		if d := diffStates(want, stateOf(bytewise)); d != "" {
			t.Fatalf("one byte a write: %s", d)
		}
		if d := diffStates(want, stateOf(halves)); d != "" {
			t.Fatalf("in two halves: %s", d)
		}
		if a, b := whole.TakeReplies(), bytewise.TakeReplies(); !bytes.Equal(a, b) {
			t.Fatalf("replies %q, one byte a write %q", a, b)
		}
	})
}

// againChanged returns the input, and once more with the highest bit of one byte changed.
// The sum of its bytes chooses which.
func againChanged(input []byte) []byte {
	if len(input) == 0 {
		return nil
	}
	sum := 0
	for _, b := range input {
		sum += int(b)
	}
	twice := append(bytes.Clone(input), input...)
	twice[len(input)+sum%len(input)] ^= 0x80
	return twice
}

func FuzzDump(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		term := mustNew(t, fuzzOptions)
		term.Write(input)
		if d := checkDump(term, fuzzOptions, nil); d != "" {
			t.Fatal(d)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, input []byte) {
		term := mustNew(t, fuzzOptions)
		term.Write(input)
		if d := checkSnapshot(term, fuzzOptions, []byte("\x1b[mA\r\n漢")); d != "" {
			t.Fatal(d)
		}
	})
}

// FuzzRestore: a snapshot may come from a truncated or damaged file; it is
// rejected, or gives a terminal that works.
func FuzzRestore(f *testing.F) {
	for _, input := range []string{"", "text", strings.Repeat("漢 line\r\n", 40), "\x1b[1;31m漢\r\n", "\x1b[?1049hx\x1b[2;3r", "\x1b]8;;http://a/\ae\u0301\x1b[38;2;1;2;3m"} {
		term, err := vt.New(fuzzOptions)
		if err != nil {
			f.Fatal(err)
		}
		term.Write([]byte(input))
		f.Add(term.Snapshot())
		f.Add(term.SnapshotPages())
		f.Add(vt.DeflateSnapshot(term.SnapshotPages()))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		term, err := vt.Restore(b, fuzzOptions)
		if err != nil {
			return
		}
		checkShape(t, term)
		term.Write([]byte("\x1b[Hx\r\n漢\x1b[2J\x1b[?1049h\x1b[?1049l"))
		term.ANSI()
		if err := term.Resize(10, 4); err != nil {
			t.Fatal(err)
		}
		checkShape(t, term)
	})
}

func FuzzResize(f *testing.F) {
	f.Add([]byte("hello\r\nworld 漢字"), uint16(10), uint16(3))
	f.Add([]byte("\x1b[?1049hx"), uint16(2), uint16(1))
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz"), uint16(0), uint16(9999))
	f.Fuzz(func(t *testing.T, input []byte, cols, rows uint16) {
		term := mustNew(t, fuzzOptions)
		term.Write(input)
		before := term.Text(vt.TextOptions{})
		err := term.Resize(int(cols), int(rows))
		legal := cols >= vt.MinCols && cols <= vt.MaxCols && rows >= vt.MinRows && rows <= vt.MaxRows
		if (err == nil) != legal {
			t.Fatalf("%dx%d: %v", cols, rows, err)
		}
		if err != nil && term.Text(vt.TextOptions{}) != before {
			t.Fatal("a refused resize changed the text")
		}
		checkShape(t, term)
	})
}

func FuzzFilter(f *testing.F) {
	addSeeds(f)
	for _, image := range []string{"\x1bPq~~\x1b\\", "\x1b_Ga=T,s=1,v=1;AAAA\x1b\\", "\x1b]1337;File=inline=1:AAAA\a"} {
		f.Add([]byte("a" + image + "b"))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		for _, kinds := range []vt.Images{0, allImages} {
			whole, bytewise := vt.HostFilter{Images: kinds}, vt.HostFilter{Images: kinds}
			want := whole.Filter(nil, input)
			var got []byte
			for i := range input {
				got = bytewise.Filter(got, input[i:i+1])
			}
			stale := whole.Stale()
			if !bytes.Equal(want, got) || stale != bytewise.Stale() {
				t.Fatalf("%q: %q, one byte a write %q", input, want, got)
			}
			if len(want) > len(input)+64 {
				t.Fatalf("%d bytes became %d", len(input), len(want))
			}
			if kinds == 0 && !stale && placeholders(t, input) != placeholders(t, want) {
				t.Fatalf("%q: an image is missing after %q, and a paint does not follow", input, want)
			}
		}
	})
}

// placeholders counts those of images on a screen.
func placeholders(t *testing.T, input []byte) int {
	term := mustNew(t, vt.Options{})
	term.Write(input)
	return strings.Count(term.ScreenText(), "[image]")
}

// TestBoundedMemory writes what would make a careless terminal grow without
// bound.
func TestBoundedMemory(t *testing.T) {
	times := func(size int, head, piece, tail string) []byte {
		return append(append([]byte(head), bytes.Repeat([]byte(piece), size/len(piece))...), tail...)
	}
	const small, large = 512 << 10, 24 << 20
	for name, input := range map[string][]byte{
		"osc without end":  times(large, "\x1b]2;", "x", ""),
		"dcs without end":  times(large, "\x1bPq", "x", ""),
		"apc without end":  times(large, "\x1b_G", "x", ""),
		"parameters":       times(small, "\x1b[", "1;", "m"),
		"digits":           times(small, "\x1b[", "9", "m"),
		"intermediates":    times(small, "\x1b[", "!", "p"),
		"queries":          times(small, "", "\x1b[c\x1b[6n", ""),
		"bells and titles": times(small, "", "\x1b]2;a title\a\a", ""),
		"marks":            times(small, "e", "\u0301", ""),
		"joiners":          times(small, "", "👩\u200d", ""),
		"clipboards":       times(8*small, "", "\x1b]52;c;"+strings.Repeat("YWJj", 1000)+"\a", ""),
		"keyboard stack":   times(small, "", "\x1b[>1u", ""),
		"sgr stack":        times(small, "", "\x1b[1m\x1b[#{", ""),
		"saved modes":      times(small, "", "\x1b[?1;2;3;2004s", ""),
		"scrolls":          times(small, "", "\x1b[2147483647S\x1b[2147483647T\x1b[2147483647L", ""),
		"repeats":          times(4<<10, "", "x\x1b[2147483647b", ""),
		"links":            manyLinks(30_000),
		"colours":          manyColours(140_000),
		"titles pushed":    times(small, "\x1b]2;t\a", "\x1b[22t", ""),
		"history":          times(8*small, "", "a line of text\r\n", ""),
	} {
		t.Run(name, func(t *testing.T) {
			before := keptHeap()
			term := mustNew(t, fuzzOptions)
			for rest := input; len(rest) > 0; rest = rest[min(len(rest), 64<<10):] {
				term.Write(rest[:min(len(rest), 64<<10)])
			}
			if grown := int64(keptHeap()) - int64(before); grown > fuzzMemory {
				t.Errorf("%d KiB kept after %d KiB", grown>>10, len(input)>>10)
			}
			checkShape(t, term)
			checkBounds(t, term)
			goruntime.KeepAlive(input)
		})
	}
}

// keptHeap is the memory in use after a collection, in bytes.
func keptHeap() uint64 {
	goruntime.GC()
	var m goruntime.MemStats
	goruntime.ReadMemStats(&m)
	return m.HeapAlloc
}

func manyLinks(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		b.WriteString("\x1b]8;;http://example.com/")
		b.WriteString(string(rune('a'+i%26)) + string(rune(0x4e00+i%20000)))
		b.WriteString("\x07x")
	}
	return b.Bytes()
}

// manyColours has more renditions than sixteen bits can number.
func manyColours(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		b.WriteString("\x1b[38;2;")
		b.WriteString(strconv.Itoa(i>>16) + ";" + strconv.Itoa(i>>8&255) + ";" + strconv.Itoa(i&255) + "mx")
	}
	return b.Bytes()
}
