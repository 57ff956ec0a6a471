package config

import (
	_ "embed"
	"fmt"
	"sort"
	"sync"

	"gascity.dev/gc/internal/toml"
)

//go:embed presets.toml
var presetText []byte

// presetFile is what presets.toml holds.
type presetFile struct {
	Providers   map[string]Provider `toml:"providers"`
	StatusRules []StatusRule        `toml:"status_rules"`
	LimitRules  []LimitRule         `toml:"limit_rules"`
}

var presetsOnce = sync.OnceValues(readPresets)

// Presets returns the built-in presets by name. The map is shared: do not
// change it.
func Presets() (map[string]Provider, error) {
	file, err := presetsOnce()
	return file.Providers, err
}

// PresetRules returns the built-in status rules of the presets. The slice is
// shared: do not change it.
func PresetRules() ([]StatusRule, error) {
	file, err := presetsOnce()
	return file.StatusRules, err
}

// PresetLimits returns the built-in limit rules of the presets. The slice is shared: do not
// change it.
func PresetLimits() ([]LimitRule, error) {
	file, err := presetsOnce()
	return file.LimitRules, err
}

// PresetNames returns the names of the built-in presets, sorted.
func PresetNames() []string {
	all, err := Presets()
	if err != nil {
		return nil
	}
	return sortedKeys(all)
}

func readPresets() (presetFile, error) {
	out := toml.NewReport("presets.toml")
	var file presetFile
	toml.Parse(presetText, out).Decode(&file, out)
	for i := range file.StatusRules {
		file.StatusRules[i].validate(out)
	}
	for i := range file.LimitRules {
		file.LimitRules[i].validate(out)
	}
	if err := out.Err(); err != nil {
		return presetFile{}, fmt.Errorf("built-in presets: %w", err)
	}
	return file, nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
