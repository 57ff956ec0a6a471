// Package picture reads from the sequences that show images (sixel, kitty's graphics
// protocol, iTerm2's inline images) how many cells an image takes and where it leaves the
// cursor. It decodes no image. Its answers depend on the bytes alone, so that a terminal
// that reads the same output again comes to the same screen: pixels are counted in cells
// of 10 by 20, whatever the host terminal's are. It serves the emulator.
package picture

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"strconv"
)

// Pixels of a cell.
const cellWidth, cellHeight = 10, 20

// Picture is an image at the cursor.
type Picture struct {
	Cols, Rows int  // cells, at least 1
	Stay       bool // the cursor does not move
	Left       bool // the cursor goes to the image's first column, otherwise right of it
}

// Head is how many bytes of a sequence are enough: the sizes come first.
const Head = 4096

// Of reads a control string, of which kind is the final byte of the introducer. ok is false
// for one that shows no image.
func Of(kind byte, body []byte) (p Picture, ok bool) {
	switch kind {
	case '_':
		return Kitty(body)
	case ']':
		if rest, is := bytes.CutPrefix(body, []byte("1337;")); is {
			return ITerm(rest)
		}
	case 'P':
		if data, is := SixelData(body); is {
			return Sixel(data), true
		}
	}
	return p, false
}

// SixelData returns what follows the parameters of a device control string with a sixel
// image; ok is false for another one.
func SixelData(body []byte) (data []byte, ok bool) {
	rest := bytes.TrimLeft(body, "0123456789;")
	return bytes.CutPrefix(rest, []byte("q"))
}

// Kitty reads an application program command. ok is false for one that shows no image:
// later chunks, transmissions, queries, deletions, and images placed by characters.
func Kitty(body []byte) (p Picture, ok bool) {
	fields, data, ok := kittyFields(body)
	if action := fields["a"]; !ok || action != "T" && action != "p" {
		return p, false
	}
	n := map[string]int{}
	for key, value := range fields {
		if v, err := strconv.Atoi(value); err == nil && v >= 0 {
			n[key] = v
		}
	}
	if n["U"] == 1 {
		return p, false
	}
	w, h := n["s"], n["v"]
	if n["f"] == 100 && n["w"] == 0 {
		w, h = pngSize(data)
	}
	if n["w"] > 0 && n["h"] > 0 {
		w, h = n["w"], n["h"]
	}
	p = cells(w, h)
	if n["c"] > 0 {
		p.Cols = n["c"]
	}
	if n["r"] > 0 {
		p.Rows = n["r"]
	}
	p.Stay = n["C"] == 1
	return p, true
}

// kittyFields returns the fields of a command of kitty's protocol, and its data.
func kittyFields(body []byte) (fields map[string]string, data []byte, ok bool) {
	control, data, _ := bytes.Cut(body, []byte(";"))
	control, ok = bytes.CutPrefix(control, []byte("G"))
	if !ok {
		return nil, nil, false
	}
	fields = map[string]string{}
	for field := range bytes.SplitSeq(control, []byte(",")) {
		key, value, _ := bytes.Cut(field, []byte("="))
		fields[string(key)] = string(value)
	}
	return fields, data, true
}

// Query asks, in kitty's protocol, whether images can be shown.
type Query struct {
	ID            string // a number, for the answer
	Direct        bool   // by data within the sequence, not by a file or shared memory
	NoOK, NoError bool   // answers that are not wanted
}

// KittyQuery reads an application program command. ok is false for one that is no query or
// wants no answer.
func KittyQuery(body []byte) (q Query, ok bool) {
	fields, _, ok := kittyFields(body)
	id, err := strconv.ParseUint(fields["i"], 10, 32)
	if !ok || fields["a"] != "q" || err != nil || id == 0 {
		return q, false
	}
	return Query{
		ID: strconv.FormatUint(id, 10), Direct: KittyDirect(body),
		NoOK: fields["q"] == "1" || fields["q"] == "2", NoError: fields["q"] == "2",
	}, true
}

// KittyDirect reports whether a command of kitty's protocol names no file and no shared
// memory.
func KittyDirect(body []byte) bool {
	fields, _, ok := kittyFields(body)
	return ok && (fields["t"] == "" || fields["t"] == "d")
}

// Sixel reads the data of a sixel image, which may be cut off at its end: the raster
// attributes (DECGRA), or else the graphics new lines.
func Sixel(data []byte) Picture {
	w, h := 0, 0
	if rest, ok := bytes.CutPrefix(data, []byte(`"`)); ok {
		end := bytes.IndexFunc(rest, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
		if end < 0 {
			end = len(rest)
		}
		if f := bytes.Split(rest[:end], []byte(";")); len(f) >= 4 {
			w, _ = strconv.Atoi(string(f[2]))
			h, _ = strconv.Atoi(string(f[3]))
		}
	}
	if w <= 0 || h <= 0 {
		h = 6 * (1 + bytes.Count(bytes.TrimRight(data, "-"), []byte("-")))
		w = sixelWidth(data)
	}
	p := cells(w, h)
	p.Left = true
	return p
}

// sixelWidth is the width of the widest row, in pixels.
func sixelWidth(data []byte) (widest int) {
	x, repeat := 0, 0
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '$' || c == '-':
			x = 0
		case c == '!':
			repeat = 0
			for i+1 < len(data) && data[i+1] >= '0' && data[i+1] <= '9' && repeat < 1<<16 {
				i++
				repeat = repeat*10 + int(data[i]-'0')
			}
		case c >= '?' && c <= '~':
			x += max(repeat, 1)
			repeat = 0
			widest = max(widest, x)
		}
	}
	return widest
}

// ITerm reads what follows "1337;" of an iTerm2 command. ok is false for one that shows
// no image.
func ITerm(body []byte) (p Picture, ok bool) {
	args, ok := bytes.CutPrefix(body, []byte("File="))
	if !ok {
		if args, ok = bytes.CutPrefix(body, []byte("MultipartFile=")); !ok {
			return p, false
		}
	}
	args, data, _ := bytes.Cut(args, []byte(":"))
	fields := map[string]string{}
	for field := range bytes.SplitSeq(args, []byte(";")) {
		key, value, _ := bytes.Cut(field, []byte("="))
		fields[string(key)] = string(value)
	}
	if fields["inline"] != "1" {
		return p, false
	}
	p = cells(pngSize(data))
	p.Cols = dimension(fields["width"], cellWidth, p.Cols)
	p.Rows = dimension(fields["height"], cellHeight, p.Rows)
	p.Stay = fields["doNotMoveCursor"] == "1"
	return p, true
}

// dimension reads cells, or pixels with the suffix px; auto otherwise.
func dimension(s string, cell, auto int) int {
	pixels := false
	if n := len(s); n > 2 && s[n-2:] == "px" {
		s, pixels = s[:n-2], true
	}
	v, err := strconv.Atoi(s)
	switch {
	case err != nil || v <= 0:
		return auto
	case pixels:
		return (v + cell - 1) / cell
	}
	return v
}

// cells is an image of w by h pixels; 1 by 1 cell if they are unknown.
func cells(w, h int) Picture {
	const most = 1 << 20
	return Picture{
		Cols: max(1, (min(max(w, 0), most)+cellWidth-1)/cellWidth),
		Rows: max(1, (min(max(h, 0), most)+cellHeight-1)/cellHeight),
	}
}

// pngSize reads the size in pixels from the beginning of a PNG in base64; 0 by 0 if it is
// none.
func pngSize(data []byte) (w, h int) {
	const need = 32 // in base64: 24 bytes, up to the height
	if len(data) < need {
		return 0, 0
	}
	var b [24]byte
	if _, err := base64.StdEncoding.Decode(b[:], data[:need]); err != nil || string(b[:8]) != "\x89PNG\r\n\x1a\n" {
		return 0, 0
	}
	w, h = int(binary.BigEndian.Uint32(b[16:])), int(binary.BigEndian.Uint32(b[20:]))
	if w > 1<<16 || h > 1<<16 {
		return 0, 0
	}
	return w, h
}
