package image

import (
	"encoding/binary"
	"errors"
	"io"
)

// ErrProgram: a file is not a program that runs in an image without other files.
var ErrProgram = errors.New("not a statically linked Linux program")

// The part of the ELF format, for 64 bits, that Arch reads.
const (
	elfHeader  = 64 // bytes
	elfMachine = 18
	elfTable   = 32 // offset of the program headers, their size and their number
	elfEntry   = 54
	elfCount   = 56
	ptInterp   = 3 // a program header that names a loader
)

// machines are Go's words for the architectures of ELF.
var machines = map[uint16]string{62: "amd64", 183: "arm64"}

// Arch returns the architecture of a program. ErrProgram if it is none that Linux runs, or
// if it needs a loader, which an image without other files does not have.
func Arch(r io.ReaderAt) (string, error) {
	h := make([]byte, elfHeader)
	if _, err := r.ReadAt(h, 0); err != nil || string(h[:6]) != "\x7fELF\x02\x01" {
		return "", ErrProgram
	}
	le := binary.LittleEndian
	arch := machines[le.Uint16(h[elfMachine:])]
	if arch == "" {
		return "", ErrProgram
	}
	at, size := int64(le.Uint64(h[elfTable:])), int64(le.Uint16(h[elfEntry:]))
	kind := make([]byte, 4)
	for range le.Uint16(h[elfCount:]) {
		if _, err := r.ReadAt(kind, at); err != nil || le.Uint32(kind) == ptInterp {
			return "", ErrProgram
		}
		at += size
	}
	return arch, nil
}
