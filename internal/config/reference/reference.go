// Package reference describes every key of city.toml: its type, default, meaning and an
// example. Names, types and defaults come from the structs of internal/config, the rest
// from keys.toml. It serves docs/city-toml.md and the JSON schema for editors; nothing
// that loads a city uses it.
package reference

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/toml"
)

// Table is one struct of the config: the keys of one table, or keys that several share.
type Table struct {
	Type    string   // its Go type, a name for links
	Paths   []string // where it may be: "[workspace]", "[[agents]]", "[providers.NAME]"
	Shared  bool     // only a part of the tables at Paths
	Meaning string
	Base    string // the shortest city with such a table; "{}" is where a key goes
	Keys    []Key
}

// Key is one key of a table.
type Key struct {
	Name     string
	Also     []string // other spellings
	Type     string   // for people: "string", "duration", "list of strings"
	Default  string   // as written in the file, or a description; "" if it is none
	Meaning  string
	Example  string // a value, as written in the file; "" for tables
	Values   []string
	Required bool
	With     string // other keys that the example needs

	typ   reflect.Type
	value any // the default, if it comes from the code
}

//go:embed keys.toml
var keysText []byte

// file is keys.toml.
type file struct {
	Tables map[string]tableText `toml:"tables"`
}

type tableText struct {
	Meaning string             `toml:"meaning"`
	Base    string             `toml:"base"`
	Keys    map[string]keyText `toml:"keys"`
}

type keyText struct {
	Meaning  string   `toml:"meaning"`
	Example  string   `toml:"example"`
	Default  string   `toml:"default"`
	Values   []string `toml:"values"`
	Required bool     `toml:"required"`
	With     string   `toml:"with"`
}

// Tables describes city.toml, the top level first.
func Tables() ([]Table, error) {
	tables, _, err := read()
	return tables, err
}

// Check returns everything in which keys.toml and the structs differ, with what to do.
func Check() error {
	_, problems, err := read()
	return cmp.Or(err, errors.Join(problems...))
}

func read() ([]Table, []error, error) {
	out := toml.NewReport("keys.toml")
	var text file
	toml.Parse(keysText, out).Decode(&text, out)
	if err := out.Err(); err != nil {
		return nil, nil, err
	}
	defaults, err := readDefaults()
	if err != nil {
		return nil, nil, err
	}
	w := &walker{text: text.Tables, defaults: defaults, at: map[reflect.Type]int{}}
	w.table(reflect.TypeFor[config.City](), "", false)
	w.unknown()
	return w.tables, w.problems, nil
}

// walker visits the structs of the config.
type walker struct {
	text     map[string]tableText
	defaults map[reflect.Type]reflect.Value
	tables   []Table
	at       map[reflect.Type]int // index of the table of a struct
	problems []error
}

func (w *walker) problem(format string, args ...any) {
	w.problems = append(w.problems, fmt.Errorf(format, args...))
}

// table adds the struct t, which may be at a path, and what is below it.
func (w *walker) table(t reflect.Type, path string, array bool) {
	header := "[" + path + "]"
	if array {
		header = "[" + header + "]"
	}
	if i, ok := w.at[t]; ok {
		w.tables[i].Paths = append(w.tables[i].Paths, header)
	} else {
		w.at[t] = len(w.tables)
		text, ok := w.text[t.Name()]
		if !ok {
			w.problem("internal/config/reference/keys.toml says nothing about %s: add [tables.%s] with meaning, base and keys", t.Name(), t.Name())
		}
		w.tables = append(w.tables, Table{Type: t.Name(), Paths: []string{header}, Meaning: text.Meaning, Base: text.Base})
		w.tables[w.at[t]].Keys = w.keys(t)
	}
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case f.Anonymous && f.Type != reflect.TypeFor[toml.Where]():
			w.table(f.Type, path, array)
			w.tables[w.at[f.Type]].Shared = true
		case name(f) != "":
			sub, list, byName := below(f.Type)
			if sub == nil {
				continue
			}
			p := strings.TrimPrefix(path+"."+name(f), ".")
			if byName {
				p += "." + placeholder(sub)
			}
			w.table(sub, p, list)
		}
	}
}

// placeholder stands for the name of a table that the user chooses.
func placeholder(t reflect.Type) string {
	if t == reflect.TypeFor[config.Level]() {
		return "LEVEL"
	}
	return "NAME"
}

// keys describes the keys of a struct, without those of embedded ones.
func (w *walker) keys(t reflect.Type) []Key {
	var keys []Key
	text := w.text[t.Name()].Keys
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous || name(f) == "" {
			continue
		}
		said, ok := text[name(f)]
		if !ok || said.Meaning == "" {
			w.problem("internal/config/reference/keys.toml says nothing about %s of %s: add\n    %s = { meaning = \"…\", example = '…' }\nto [tables.%s.keys], then run make docs", name(f), t.Name(), name(f), t.Name())
		}
		k := Key{
			Name: name(f), Type: typeName(f.Type), Meaning: said.Meaning, Example: said.Example,
			Default: said.Default, Values: said.Values, Required: said.Required, With: said.With, typ: f.Type,
		}
		if spellings := strings.Split(f.Tag.Get("toml"), ","); len(spellings) > 1 {
			k.Also = spellings[1:]
		}
		if v := w.defaults[t]; v.IsValid() && !v.Field(i).IsZero() && said.Default == "" {
			k.value = written(v.Field(i).Interface())
			k.Default = fmt.Sprint(k.value)
			if s, is := k.value.(string); is {
				k.Default = fmt.Sprintf("%q", s)
			}
		}
		if sub, list, byName := below(f.Type); said.Example == "" && (sub == nil || list && !byName && t.Name() != "City") && k.Meaning != "" {
			w.problem("internal/config/reference/keys.toml has no example of %s of %s: add example = '…'", k.Name, t.Name())
		}
		keys = append(keys, k)
	}
	return keys
}

// unknown reports what keys.toml says about keys and structs that do not exist.
func (w *walker) unknown() {
	for typ, text := range w.text {
		i := slices.IndexFunc(w.tables, func(t Table) bool { return t.Type == typ })
		if i < 0 {
			w.problem("internal/config/reference/keys.toml: no struct is named %s: remove [tables.%s]", typ, typ)
			continue
		}
		for key := range text.Keys {
			if !slices.ContainsFunc(w.tables[i].Keys, func(k Key) bool { return k.Name == key }) {
				w.problem("internal/config/reference/keys.toml: %s has no key %s: remove it", typ, key)
			}
		}
	}
}

// name is a field's key; "" if it has none.
func name(f reflect.StructField) string {
	first, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
	return strings.TrimPrefix(first, "-")
}
