package config

import (
	_ "embed"
	"fmt"
	"reflect"
	"sort"
	"sync"
)

//go:embed presets.toml
var presetText []byte

var presetsOnce = sync.OnceValues(readPresets)

// Presets returns the built-in presets by name. The map is shared: do not
// change it.
func Presets() (map[string]Provider, error) { return presetsOnce() }

// PresetNames returns the names of the built-in presets, sorted.
func PresetNames() []string {
	all, err := Presets()
	if err != nil {
		return nil
	}
	return sortedKeys(all)
}

func readPresets() (map[string]Provider, error) {
	out := &collector{file: "presets.toml"}
	var file struct {
		Providers map[string]Provider `toml:"providers"`
	}
	d := &decoder{out: out}
	d.table(parseTree(presetText, out), reflect.ValueOf(&file).Elem(), "")
	if err := out.err(); err != nil {
		return nil, fmt.Errorf("built-in presets: %w", err)
	}
	return file.Providers, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
