package server

import (
	"fmt"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/vt"
)

func checkSize(cols, rows int) error {
	if cols < vt.MinCols || rows < vt.MinRows || cols > vt.MaxCols || rows > vt.MaxRows {
		return fmt.Errorf("%w: %dx%d; must be %dx%d to %dx%d", api.ErrSize, cols, rows, vt.MinCols, vt.MinRows, vt.MaxCols, vt.MaxRows)
	}
	return nil
}
