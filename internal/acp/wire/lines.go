package wire

import (
	"bufio"
	"bytes"
	"io"
)

const (
	readBuffer = 64 << 10
	headSize   = 4 << 10
)

// lines reads lines of at most max bytes. A longer one is skipped as it comes: no
// more than max bytes of it are in memory at a time.
type lines struct {
	r        *bufio.Reader
	max      int
	skipping bool // the line under way is too long
}

func newLines(r io.Reader, max int) *lines {
	return &lines{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns the next line with its end, valid until the next call. If the line is
// too long, next returns its first 4 KiB as soon as that is known, and long. A line
// that the end of input cuts off is a line.
func (l *lines) next() (line []byte, long bool, err error) {
	if err := l.skip(); err != nil {
		return nil, false, err
	}
	var parts [][]byte // of a line that does not fit in the buffer
	n := 0
	for {
		part, err := l.r.ReadSlice('\n')
		n += len(part)
		if n > l.max {
			l.skipping = err == bufio.ErrBufferFull
			if parts != nil {
				part = parts[0]
			}
			return bytes.Clone(part[:min(len(part), headSize)]), true, nil
		}
		if err == bufio.ErrBufferFull {
			parts = append(parts, bytes.Clone(part))
			continue
		}
		if err != nil && n == 0 {
			return nil, false, err
		}
		if parts != nil {
			part = bytes.Join(append(parts, part), nil)
		}
		return part, false, nil
	}
}

// skip reads the rest of a line that is too long.
func (l *lines) skip() error {
	for l.skipping {
		_, err := l.r.ReadSlice('\n')
		if l.skipping = err == bufio.ErrBufferFull; !l.skipping && err != nil {
			return err
		}
	}
	return nil
}
