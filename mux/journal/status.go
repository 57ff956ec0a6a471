package journal

import (
	"encoding/binary"
	"errors"
	"fmt"

	"gascity.dev/gc/mux/api"
)

// KeepStatus writes a detector's state.
func (j *Journal) KeepStatus(b []byte) error {
	if len(b) > statusMax {
		return fmt.Errorf("%w: a status of %d bytes", api.ErrTooLarge, len(b))
	}
	b = append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...)
	if err := writeAt(j.Fd, statusArea, b); err != nil {
		return fmt.Errorf("write the status: %w", err)
	}
	return nil
}

// KeptStatus returns what KeepStatus wrote last; empty if nothing.
func (j *Journal) KeptStatus() ([]byte, error) {
	var head [8]byte
	err := readAt(j.Fd, head[:], statusArea)
	if errors.Is(err, errShort) {
		return nil, nil // an older server kept none
	}
	if err != nil {
		return nil, fmt.Errorf("read the status: %w", err)
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n > statusMax {
		return nil, fmt.Errorf("%w: a status of %d bytes", api.ErrTooLarge, n)
	}
	b := make([]byte, n)
	return b, readAt(j.Fd, b, statusArea+8)
}

// The detector's state is in the journal's memory after the nudge under way: its length
// and its JSON. A kill during the write leaves something unreadable, which counts as
// nothing.
const (
	statusArea = aheadArea + 8 + aheadMax
	statusMax  = 2 << 20
)
