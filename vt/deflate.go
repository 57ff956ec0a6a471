package vt

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"io"
	"sync"
)

// Packed screens are deflated (RFC 1951), to about a third.

// deflaters holds *flate.Writer; inflaters holds io.ReadClosers that implement
// flate.Resetter.
var deflaters, inflaters sync.Pool

// deflate appends p deflated, preceded by its length as a uvarint.
func deflate(b, p []byte) []byte {
	out := bytes.NewBuffer(binary.AppendUvarint(b, uint64(len(p))))
	w, _ := deflaters.Get().(*flate.Writer)
	if w == nil {
		w, _ = flate.NewWriter(out, flate.BestSpeed) // a valid level
	} else {
		w.Reset(out)
	}
	_, _ = w.Write(p) // a bytes.Buffer never fails
	_ = w.Close()
	deflaters.Put(w)
	return out.Bytes()
}

// inflate reverses deflate; false if p is malformed or longer than most bytes
// inflated.
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
	// Allocate as bytes arrive: the length is not trusted.
	var out bytes.Buffer
	if got, err := out.ReadFrom(io.LimitReader(r, int64(size))); err != nil || uint64(got) != size {
		return nil, false
	}
	return out.Bytes(), true
}
