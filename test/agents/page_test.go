package agents

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page is a recipe of an agent. Its blocks are in the order of the text.
type page struct {
	text   string
	script []string          // "sh agent": a person's commands
	city   []string          // "toml": the city.toml, whose [workspace] comes first
	files  map[string]string // "toml ~/FILE", "json ~/FILE": files of the home
}

func readPage(path string) (*page, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &page{text: string(b), files: map[string]string{}}
	for i, block := range strings.Split(p.text, "\n```") {
		mark, body, _ := strings.Cut(block, "\n")
		lang, about, _ := strings.Cut(mark, " ")
		file, inHome := strings.CutPrefix(about, "~/")
		switch {
		case i == 0 || mark == "": // the text before and after a block
		case inHome:
			p.files[file] = body + "\n"
		case lang == "sh" && about == "agent":
			p.script = append(p.script, body)
		case lang == "toml" && strings.Contains(body, "[workspace]"):
			p.city = append([]string{body}, p.city...)
		case lang == "toml" && about == "":
			p.city = append(p.city, body)
		}
	}
	return p, nil
}

// TestRecipesArePinned: the recipes name the packages and versions that `make e2e-agents`
// installs.
func TestRecipesArePinned(t *testing.T) {
	b, err := os.ReadFile("npm/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pinned struct{ Dependencies map[string]string }
	if err := json.Unmarshal(b, &pinned); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/recipes/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range pages {
		p, err := readPage(path)
		if err != nil {
			t.Fatal(err)
		}
		if p.script == nil {
			continue // no recipe of an agent
		}
		found++
		_, name, _ := strings.Cut(p.text, "npm install -g ")
		name = strings.Fields(name + " ?")[0]
		if version := pinned.Dependencies[name]; version == "" || !strings.Contains(p.text, "version "+version+" ") {
			t.Errorf("%s: package %s, want its version %q", path, name, version)
		}
	}
	if found != 6 {
		t.Errorf("%d recipes of agents", found)
	}
}
