package reference

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/toml"
)

// schema is a JSON schema of draft 7, the one that editors of TOML read.
type schema struct {
	Schema      string             `json:"$schema,omitempty"`
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Ref         string             `json:"$ref,omitempty"`
	Type        string             `json:"type,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	AnyOf       []*schema          `json:"anyOf,omitempty"`
	AllOf       []*schema          `json:"allOf,omitempty"`
	Default     any                `json:"default,omitempty"`
	Items       *schema            `json:"items,omitempty"`
	Properties  map[string]*schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	// Additional is false, or the schema of the values of a map.
	Additional  any                `json:"additionalProperties,omitempty"`
	Definitions map[string]*schema `json:"definitions,omitempty"`
}

const (
	durationPattern = `^(off|[+]?(0|(([0-9]+[.]?[0-9]*|[.][0-9]+)(ns|us|µs|μs|ms|s|m|h))+))$`
	bytesPattern    = `^ *[0-9]+([.][0-9]+)? *([KMGT]i?B?|B)? *$`
	sizePattern     = `^[0-9]+x[0-9]+$`
	cpuPattern      = `^[0-9]*[.]?[0-9]+m?$`
)

// Schema is the JSON schema of city.toml.
func Schema(tables []Table) ([]byte, error) {
	s := &schemas{byType: map[string]Table{}, definitions: map[string]*schema{}}
	for _, t := range tables {
		s.byType[t.Type] = t
	}
	root := s.object(reflect.TypeFor[config.City]())
	root.Schema, root.Title = "http://json-schema.org/draft-07/schema#", "city.toml of gc"
	root.Definitions = s.definitions
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the schema of city.toml: %w", err)
	}
	return append(text, '\n'), nil
}

// schemas makes a schema of each struct once.
type schemas struct {
	byType      map[string]Table
	definitions map[string]*schema
}

func (s *schemas) object(t reflect.Type) *schema {
	o := &schema{Type: "object", Properties: map[string]*schema{}, Additional: false}
	s.addKeys(o, t)
	if t == reflect.TypeFor[config.City]() {
		o.Properties["agent"] = o.Properties["agents"]
	}
	return o
}

func (s *schemas) addKeys(o *schema, t reflect.Type) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type != reflect.TypeFor[toml.Where]() {
			s.addKeys(o, f.Type)
		}
	}
	for _, k := range s.byType[t.Name()].Keys {
		p := s.key(k)
		for _, name := range append([]string{k.Name}, k.Also...) {
			o.Properties[name] = p
		}
		if k.Required {
			o.Required = append(o.Required, k.Name)
		}
	}
}

// key is the schema of a key's value, with its description.
func (s *schemas) key(k Key) *schema {
	v := s.value(k.typ)
	if len(k.Values) > 0 {
		in := v
		if v.Items != nil {
			in = v.Items
		}
		in.Enum = k.Values
	}
	if v.Ref != "" { // draft 7 ignores what stands beside $ref
		v = &schema{AllOf: []*schema{v}}
	}
	v.Description, v.Default = k.Meaning, k.value
	if k.value == nil && k.Default != "" {
		v.Description += "\n\nDefault: " + k.Default
	}
	if k.Example != "" {
		v.Description += "\n\nExample: " + k.Name + " = " + k.Example
	}
	return v
}

func (s *schemas) value(t reflect.Type) *schema {
	zero := 0
	switch t {
	case reflect.TypeFor[time.Duration]():
		return &schema{Type: "string", Pattern: durationPattern}
	case reflect.TypeFor[config.Size]():
		return &schema{Type: "string", Pattern: sizePattern}
	case reflect.TypeFor[config.Bytes]():
		return &schema{AnyOf: []*schema{{Type: "integer", Minimum: &zero}, {Type: "string", Pattern: bytesPattern}}}
	case reflect.TypeFor[config.CPU]():
		return &schema{AnyOf: []*schema{{Type: "number", Minimum: &zero}, {Type: "string", Pattern: cpuPattern}}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.value(t.Elem())
	case reflect.Bool:
		return &schema{Type: "boolean"}
	case reflect.Int, reflect.Int64:
		return &schema{Type: "integer"}
	case reflect.Slice:
		return &schema{Type: "array", Items: s.value(t.Elem())}
	case reflect.Map:
		return &schema{Type: "object", Additional: s.value(t.Elem())}
	case reflect.Struct:
		name := strings.ToLower(t.Name())
		if s.definitions[name] == nil {
			s.definitions[name] = s.object(t)
			s.definitions[name].Description = s.byType[t.Name()].Meaning
		}
		return &schema{Ref: "#/definitions/" + name}
	}
	return &schema{Type: "string"}
}
