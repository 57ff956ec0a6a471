package api

import (
	"fmt"

	"gascity.dev/gc/vt"
)

// CheckSize returns ErrSize unless a terminal can have the size: 2 to 2000 columns, 1 to
// 2000 rows.
func CheckSize(cols, rows int) error {
	if cols < vt.MinCols || rows < vt.MinRows || cols > vt.MaxCols || rows > vt.MaxRows {
		return fmt.Errorf("%w: %dx%d; must be %dx%d to %dx%d", ErrSize, cols, rows, vt.MinCols, vt.MinRows, vt.MaxCols, vt.MaxRows)
	}
	return nil
}
