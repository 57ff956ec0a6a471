// Package topics has the texts of gc help TOPIC: what is about more than one command. They
// are kept in step with the code by tests.
package topics

import (
	_ "embed"
	"fmt"
	"strings"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/config/reference"
	"gascity.dev/gc/internal/nearest"
)

var (
	//go:embed env.txt
	env string
	//go:embed states.txt
	states string
	//go:embed providers.txt
	providers string
	//go:embed exit.txt
	exit string
)

// CityTOML is the topic that takes the name of a table.
const CityTOML = "city-toml"

// All returns the topics, in the order of the help.
func All() []cli.Topic {
	fixed := func(text string) func([]string) (string, error) {
		return func([]string) (string, error) { return text, nil }
	}
	return []cli.Topic{
		{Name: CityTOML, Short: "The keys of city.toml", Args: "[TABLE]", Text: keys, Words: tableNames},
		{Name: "env", Short: "Environment variables", Text: fixed(env)},
		{Name: "exit", Short: "Exit statuses", Text: func([]string) (string, error) {
			return strings.Replace(exit, "@STATUSES@", cli.StatusTable(), 1), nil
		}},
		{Name: "providers", Short: "Programs of agents, and what hosts their sessions", Text: func([]string) (string, error) {
			return strings.Replace(providers, "@PRESETS@", cli.Wrap("  ", config.PresetNames()), 1), nil
		}},
		{Name: "states", Short: "The states and activities of agents", Text: fixed(states)},
	}
}

// keys lists the tables of city.toml, or the keys of one.
func keys(args []string) (string, error) {
	tables, err := reference.Tables()
	if err != nil {
		return "", err
	}
	if len(args) > 0 {
		return oneTable(tables, args[0])
	}
	var b strings.Builder
	b.WriteString("A city is a directory with a city.toml. Its tables:\n\n")
	for _, t := range tables[1:] {
		if !t.Shared {
			fmt.Fprintf(&b, "  %s\n%s", strings.Join(t.Paths, ", "), wrapped("      ", t.Meaning))
		}
	}
	b.WriteString("\ngc help city-toml TABLE shows the keys of one, such as gc help city-toml agents.\n" +
		"gc config check reports every problem, gc config show where each value comes from.\n")
	return b.String(), nil
}

func oneTable(tables []reference.Table, word string) (string, error) {
	name := strings.ToLower(strings.Trim(word, "[]"))
	var b strings.Builder
	for _, t := range tables[1:] {
		own := strings.EqualFold(t.Type, name)
		for _, p := range t.Paths {
			own = own || strings.EqualFold(strings.Trim(p, "[]"), name)
		}
		if !own {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s\n\n%s\n", strings.Join(t.Paths, ", "), wrapped("", t.Meaning))
		for _, k := range t.Keys {
			fmt.Fprintf(&b, "  %s (%s)\n%s", k.Name, strings.Join(k.Facts(), "; "), wrapped("      ", k.Meaning))
			if k.Example != "" {
				fmt.Fprintf(&b, "      %s = %s\n", k.Name, k.Example)
			}
		}
	}
	if b.Len() > 0 {
		return b.String(), nil
	}
	hint := "gc help city-toml lists the tables"
	if near := nearest.Of(name, tableNames()); near != "" {
		hint = "did you mean gc help city-toml " + near + "?"
	}
	return "", cli.Fail(cli.ExitUsage, hint, "city.toml has no table %q", word)
}

// tableNames are the words that city-toml takes.
func tableNames() []string {
	tables, err := reference.Tables()
	if err != nil {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for _, t := range tables[1:] {
		for _, p := range t.Paths {
			if p = strings.Trim(p, "[]"); !seen[p] {
				names, seen[p] = append(names, p), true
			}
		}
	}
	return names
}

func wrapped(indent, text string) string {
	return cli.Wrap(indent, strings.Fields(text)) + "\n"
}
