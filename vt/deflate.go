package vt

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"sync"
)

// What rests is kept deflated (RFC 1951): the text of a screen takes a third.

// deflaters are *flate.Writer, inflaters io.ReadCloser that are a flate.Resetter.
var deflaters, inflaters sync.Pool

// deflate appends p deflated, behind its length as a uvarint.
func deflate(b, p []byte) []byte {
	out := bytes.NewBuffer(binary.AppendUvarint(b, uint64(len(p))))
	w, _ := deflaters.Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(out, flate.BestSpeed) // a level that there is
	} else {
		w.Reset(out)
	}
	_, _ = w.Write(p) // a buffer takes all
	_ = w.Close()
	deflaters.Put(w)
	return out.Bytes()
}

// inflate is the reverse, of at most so many bytes; false when p is something
// else.
func inflate(p []byte, most uint64) ([]byte, bool) {
	size, n := binary.Uvarint(p)
	if n <= 0 || size > most {
		return nil, false
	}
	from := bytes.NewReader(p[n:])
	r, _ := inflaters.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReader(from)
	} else if r.(flate.Resetter).Reset(from, nil) != nil {
		return nil, false
	}
	defer inflaters.Put(r)
	// Memory is taken as bytes come: the length is the word of who wrote it.
	var out bytes.Buffer
	if got, err := out.ReadFrom(io.LimitReader(r, int64(size))); err != nil || uint64(got) != size {
		return nil, false
	}
	return out.Bytes(), true
}
