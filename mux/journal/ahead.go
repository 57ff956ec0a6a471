package journal

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	"gascity.dev/gc/mux/api"
)

// A nudge is written ahead into the journal's memory, and the header records how much of
// it the terminal took. So a server that follows a crash types the rest and submits it,
// instead of leaving half a message in the composer.
const (
	aheadArea = snapshotArea + 2*snapshotMax
	aheadMax  = 8 << 20 // of a message in JSON
)

// Ahead is the data needed to finish a nudge.
type Ahead struct {
	Key     uint64 `json:"key"` // 0 if the caller gave no id
	Text    []byte `json:"text"`
	Bracket bool   `json:"bracket,omitempty"`
}

// Ahead writes a nudge ahead.
func (j *Journal) Ahead(a Ahead) error {
	b, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if len(b) > aheadMax {
		return fmt.Errorf("%w: a nudge of %d bytes", api.ErrTooLarge, len(b))
	}
	b = append(binary.LittleEndian.AppendUint64(nil, uint64(len(b))), b...)
	if err := writeAt(j.Fd, aheadArea, b); err != nil {
		return fmt.Errorf("write a nudge ahead: %w", err)
	}
	j.AheadDone.Store(0)
	j.AheadNext.Store(0)
	return nil
}

// ReadAhead returns the nudge that was last written ahead.
func (j *Journal) ReadAhead() (a Ahead, err error) {
	var head [8]byte
	if err := readAt(j.Fd, head[:], aheadArea); err != nil {
		return a, err
	}
	n := binary.LittleEndian.Uint64(head[:])
	if n == 0 || n > aheadMax {
		return a, fmt.Errorf("%w: a nudge of %d bytes", api.ErrTooLarge, n)
	}
	b := make([]byte, n)
	if err := readAt(j.Fd, b, aheadArea+8); err != nil {
		return a, err
	}
	return a, json.Unmarshal(b, &a)
}
