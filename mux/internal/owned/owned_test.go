package owned

import (
	"testing"

	"gascity.dev/gc/mux/api"
)

func TestTable(t *testing.T) {
	t.Parallel()
	var w Table
	w.End("a", "1") // of a command that ended before the server began
	if list := w.Of("a"); len(list) != 0 {
		t.Error(list)
	}
	w.Begin("a", api.Work{ID: "2"})
	w.Begin("a", api.Work{ID: "1"})
	w.Begin("b", api.Work{ID: "3"})
	if list := w.Of("a"); len(list) != 2 || list[0].ID != "1" || list[1].ID != "2" {
		t.Error(list)
	}
	w.End("a", "1")
	w.End("a", "1")
	if list := w.Of("a"); len(list) != 1 || list[0].ID != "2" {
		t.Error(list)
	}
	w.End("a", "2")
	if list := w.Of("a"); len(list) != 0 {
		t.Error(list)
	}
}
