package gc_test

import (
	"os"
	"testing"

	"gascity.dev/gc/internal/config/reference"
)

// A new key of city.toml is described before it lands: the errors say where.
func TestKeysAreWritten(t *testing.T) {
	if err := reference.Check(); err != nil {
		t.Fatal(err)
	}
	tables, err := reference.Tables()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("docs/city-toml.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(page) != reference.Markdown(tables) {
		t.Error("docs/city-toml.md is behind the code: make docs")
	}
}
