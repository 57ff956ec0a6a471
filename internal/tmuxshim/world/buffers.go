package world

import (
	"fmt"
	"slices"
	"time"
)

// maxBuffers is how many buffers tmux keeps that it named itself.
const maxBuffers = 50

// Buffer returns the buffer of a name, or for "" the newest; nil if there is none.
func (w *World) Buffer(name string) *Buffer {
	i := slices.IndexFunc(w.Buffers, func(b *Buffer) bool { return b.Name == name || name == "" })
	if i < 0 {
		return nil
	}
	return w.Buffers[i]
}

// SetBuffer adds a buffer, or replaces the one of that name; "" adds one that tmux names.
func (w *World) SetBuffer(name string, data []byte) {
	b := &Buffer{Name: name, Data: data, Created: time.Now()}
	if name == "" {
		b.Name, b.Auto = fmt.Sprintf("buffer%d", w.NextBuffer), true
		w.NextBuffer++
	}
	w.DeleteBuffer(w.Buffer(b.Name))
	w.Buffers = slices.Insert(w.Buffers, 0, b)
	auto := 0
	w.Buffers = slices.DeleteFunc(w.Buffers, func(b *Buffer) bool {
		if b.Auto {
			auto++
		}
		return b.Auto && auto > maxBuffers
	})
}

// DeleteBuffer removes b, if it is not nil.
func (w *World) DeleteBuffer(b *Buffer) {
	w.Buffers = slices.DeleteFunc(w.Buffers, func(x *Buffer) bool { return x == b })
}
