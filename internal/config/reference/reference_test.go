package reference

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gascity.dev/gc/internal/config"
	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
	gotoml "github.com/pelletier/go-toml/v2"
)

var update = flag.Bool("update", false, "write docs/city-toml.md")

const page = "../../../docs/city-toml.md"

func tables(t *testing.T) []Table {
	t.Helper()
	all, err := Tables()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// keys.toml describes every key of the structs, and no other; the error says what to add.
func TestEveryKeyIsDescribed(t *testing.T) {
	if err := Check(); err != nil {
		t.Error(err)
	}
	for _, table := range tables(t) {
		if table.Meaning == "" || strings.Count(table.Base, "{}") != 1 {
			t.Errorf("keys.toml: [tables.%s] needs a meaning, and a base with one {}", table.Type)
		}
		for _, k := range table.Keys {
			if !strings.HasSuffix(k.Meaning, ".") {
				t.Errorf("%s of %s: the meaning is no sentence", k.Name, table.Type)
			}
		}
	}
}

// docs/city-toml.md is what the code says; -update writes it.
func TestDocs(t *testing.T) {
	want := Markdown(tables(t))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/city-toml.md is behind internal/config, run make docs (-want +got):\n%s", diff)
	}
}

// Every example is valid, as are all valid words; another word is not. The schema agrees.
func TestExamples(t *testing.T) {
	valid := validator(t)
	for _, table := range tables(t) {
		for _, k := range table.Keys {
			if k.Example == "" {
				continue
			}
			both(t, valid, table.city(k, k.Example), true)
			for _, v := range k.Values {
				both(t, valid, table.city(k, k.quoted(v)), true)
			}
			if len(k.Values) > 0 {
				both(t, valid, table.city(k, k.quoted("nosuchword")), false)
			}
			for typ, value := range map[string]string{"string": "1", "boolean": `"yes"`, "duration": "5", "integer": `"5"`, "size": `"big"`, "bytes": "-1", "processors": `"two"`, "list of strings": "true", "table of strings": `["a"]`} {
				if k.Type == typ {
					both(t, valid, table.city(k, value), false)
				}
			}
		}
	}
}

// A table without a required key is refused.
func TestRequired(t *testing.T) {
	valid := validator(t)
	for _, table := range tables(t) {
		for _, k := range table.Keys {
			if k.Required && table.Type != "City" {
				both(t, valid, table.city(k, ""), false)
			}
		}
	}
}

// quoted is a word as a value of the key: alone, or in a list.
func (k Key) quoted(word string) string {
	if strings.HasPrefix(k.Type, "list") {
		return `["` + word + `"]`
	}
	return `"` + word + `"`
}

// city is a city whose table has the key; "" leaves it out.
func (t Table) city(k Key, value string) string {
	var lines []string
	if value != "" {
		lines = append(lines, k.Name+" = "+value)
	}
	if k.With != "" {
		lines = append(lines, strings.Split(k.With, "; ")...)
	}
	before, after, _ := strings.Cut(t.Base, "{}\n")
	given := []string{k.Name}
	for _, l := range lines {
		given = append(given, strings.TrimPrefix(strings.Fields(l)[0], "-"))
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l[0] == '-' })
	rest, next, more := strings.Cut(after, "\n[")
	if strings.HasPrefix(after, "[") {
		rest, next, more = "", after[1:], true
	}
	for _, l := range strings.Split(strings.TrimSpace(rest), "\n") {
		if l != "" && !slices.Contains(given, strings.Fields(l)[0]) {
			lines = append(lines, l)
		}
	}
	text := before + strings.Join(lines, "\n") + "\n"
	if more {
		text += "[" + next
	}
	return text
}

// both checks a city with gc and with the schema.
func both(t *testing.T, valid func(string) error, city string, ok bool) {
	t.Helper()
	if _, err := config.Parse("/town/city.toml", []byte(city)); (err == nil) != ok {
		t.Errorf("gc: ok = %v, want %v: %v\n%s", err == nil, ok, err, city)
	}
	if err := valid(city); (err == nil) != ok {
		t.Errorf("the schema: ok = %v, want %v: %v\n%s", err == nil, ok, err, city)
	}
}

// validator checks texts with the schema, by another implementation of JSON schema.
func validator(t *testing.T) func(city string) error {
	t.Helper()
	text, err := Schema(tables(t))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(city string) error {
		var v map[string]any
		if err := gotoml.Unmarshal([]byte(city), &v); err != nil {
			return err
		}
		return r.Validate(v)
	}
}

// Mistakes that people make are found by gc and by the schema.
func TestBadInput(t *testing.T) {
	valid := validator(t)
	for _, city := range []string{
		"",
		"[workspace]\n",
		"[workspace]\nname = 5\n",
		"[workspace]\nname = \"a\"\nprovder = \"claude\"\n",
		"[workspace]\nname = \"a\"\n[[agnets]]\nname = \"b\"\n",
		"[workspace]\nname = \"a\"\n[agents]\nname = \"b\"\n",
		"[workspace]\nname = \"a\"\n[[agents]]\nname = \"b\"\nidle_timeout = 30\n",
		"[workspace]\nname = \"a\"\n[[agents]]\nname = \"b\"\nidle_timeout = \"30 min\"\n",
		"[workspace]\nname = \"a\"\n[[agents]]\nname = \"b\"\ndepends_on = \"c\"\n",
		"[workspace]\nname = \"a\"\n[[agents]]\nname = \"b\"\nmouse = \"on\"\n",
		"[workspace]\nname = \"a\"\n[[agents]]\nname = \"b\"\n[agents.pool]\nmaximum = 3\n",
		"[workspace]\nname = \"a\"\n[[agents]]\nname = \"b\"\nlimits = { memory = \"lots\" }\n",
		"[workspace]\nname = \"a\"\n[session]\nsize = \"80\"\n",
		"[workspace]\nname = \"a\"\n[providers]\nclaude = \"claude\"\n",
		"[workspace]\nname = \"a\"\n[session.acp]\nnudge_busy_timeout = \"1s\"\n",
		"[workspace]\nname = \"a\"\n[[mcp_servers]]\ncommand = \"x\"\n",
	} {
		both(t, valid, city, false)
	}
}

// The city.toml of gc init, also with its comments made keys, and those of the examples and
// documents are valid for the schema.
func TestExistingCities(t *testing.T) {
	valid := validator(t)
	text := config.InitText("town")
	both(t, valid, text, true)
	both(t, valid, regexp.MustCompile(`(?m)^# (\w+ = |\[)`).ReplaceAllString(text, "$1"), true)
	files, err := filepath.Glob("../../../examples/*/city.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		both(t, valid, string(b), true)
	}
}
