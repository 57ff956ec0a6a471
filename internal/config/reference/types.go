package reference

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
)

// below returns the struct of a table below a key, nil if the key has a plain value. list
// means an array of tables, byName tables with names.
func below(t reflect.Type) (sub reflect.Type, list, byName bool) {
	switch t.Kind() {
	case reflect.Pointer:
		return below(t.Elem())
	case reflect.Slice:
		sub, _, _ = below(t.Elem())
		return sub, sub != nil, false
	case reflect.Map:
		sub, _, _ = below(t.Elem())
		return sub, false, sub != nil
	case reflect.Struct:
		if t != reflect.TypeFor[config.Size]() {
			return t, false, false
		}
	}
	return nil, false, false
}

// typeName names a type for people.
func typeName(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "duration"
	case reflect.TypeFor[config.Size]():
		return "size"
	case reflect.TypeFor[config.Bytes]():
		return "bytes"
	case reflect.TypeFor[config.CPU]():
		return "processors"
	}
	if sub, list, byName := below(t); sub != nil {
		switch {
		case list:
			return "array of tables"
		case byName:
			return "tables by name"
		}
		return "table"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeName(t.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64:
		return "integer"
	case reflect.Slice:
		return "list of " + plural(typeName(t.Elem()))
	case reflect.Map:
		return "table of " + plural(typeName(t.Elem()))
	}
	return t.String()
}

// plural is a type's name for several of it: "lists of strings".
func plural(name string) string {
	if rest, ok := strings.CutPrefix(name, "list "); ok {
		return "lists " + rest
	}
	return name + "s"
}

// written is a default as the file has it: durations, sizes and amounts as strings.
func written(v any) any {
	switch v := v.(type) {
	case time.Duration:
		return shortDuration(v)
	case config.Size:
		return v.String()
	case config.Bytes:
		return bytesText(int64(v))
	case *bool:
		return *v
	}
	return v
}

// shortDuration is a duration without its zero parts: "1m", not "1m0s".
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func bytesText(n int64) string {
	for _, u := range []struct {
		name  string
		bytes int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d%s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprint(n)
}

// smallest is a city that sets nothing, with one agent, which is a pool. What its parts and
// the agent's resolution have nevertheless are the defaults.
const smallest = `
[workspace]
name = "x"
[[agents]]
name = "x"
start_command = "x"
[agents.pool]
max = 1
`

// readDefaults returns the defaults of each struct, as a value of it.
func readDefaults() (map[reflect.Type]reflect.Value, error) {
	city, err := config.Parse("/"+config.FileName, []byte(smallest))
	if err != nil {
		return nil, fmt.Errorf("the smallest city: %w", err)
	}
	resolved, err := city.Resolve(&city.Agents[0])
	if err != nil {
		return nil, fmt.Errorf("the smallest city: %w", err)
	}
	pod := resolved.Pod(nil)
	agent := config.Agent{WakeMode: resolved.WakeMode, Mail: resolved.Mail, Hooks: resolved.Hooks, Attach: &resolved.Attach}
	pool := *city.Agents[0].Pool
	pool.Max = 0
	values := []any{
		agent, pool, resolved.Care, resolved.ACP,
		config.Hints{PromptMode: resolved.PromptMode}, config.AgentDefaults{Hooks: resolved.Hooks},
		config.K8s{Namespace: pod.Namespace, NodeLoss: pod.NodeLoss},
	}
	defaults := map[reflect.Type]reflect.Value{}
	for i, v := 0, reflect.ValueOf(*city); i < v.NumField(); i++ {
		if f := v.Field(i); f.Kind() == reflect.Struct && f.Type() != reflect.TypeFor[config.Workspace]() {
			defaults[f.Type()] = f
		}
	}
	for _, v := range values {
		defaults[reflect.TypeOf(v)] = reflect.ValueOf(v)
	}
	return defaults, nil
}
