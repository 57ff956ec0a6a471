package toml

import (
	"reflect"
	"sort"
	"strings"
	"time"

	"gascity.dev/gc/internal/nearest"
)

// field is one key that a struct accepts.
type field struct {
	name  string // canonical
	index []int
}

// Decode fills the struct that v points to. Fields are named by their toml tag,
// "name,other spelling". Keys without a field and values of the wrong type are
// reported to out. Fields that the file does not set keep their value.
func (doc *Document) Decode(v any, out *Report) {
	d := &decoder{out: out}
	d.table(doc.root, reflect.ValueOf(v).Elem(), "")
}

// decoder fills structs from nodes. It reports every mismatch with its position
// and continues.
type decoder struct {
	out  *Report
	seen map[reflect.Type]map[string]field // fields, computed once per type
}

func (d *decoder) fields(t reflect.Type) map[string]field {
	if f, ok := d.seen[t]; ok {
		return f
	}
	if d.seen == nil {
		d.seen = map[reflect.Type]map[string]field{}
	}
	d.seen[t] = fields(t, nil)
	return d.seen[t]
}

// fields maps every accepted spelling to the field of a struct type.
func fields(t reflect.Type, prefix []int) map[string]field {
	all := map[string]field{}
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(append([]int(nil), prefix...), i)
		if f.Anonymous {
			for k, v := range fields(f.Type, index) {
				all[k] = v
			}
			continue
		}
		tag := f.Tag.Get("toml")
		if tag == "" || tag == "-" {
			continue
		}
		names := strings.Split(tag, ",")
		for _, n := range names {
			all[n] = field{name: names[0], index: index}
		}
	}
	return all
}

// table decodes n into the struct v. path is the table's name in the file.
func (d *decoder) table(n *node, v reflect.Value, path string) {
	known := d.fields(v.Type())
	where := Where{At: n.at, Keys: make(map[string]Pos, len(n.keys))}
	for _, key := range n.keys {
		child := n.table[key]
		f, ok := known[key]
		if !ok {
			d.unknown(key, child.at, known, path, v)
			continue
		}
		if _, dup := where.Keys[f.name]; dup {
			d.out.Add(child.at, "keep one of the two spellings", "%q sets %q a second time", key, f.name)
			continue
		}
		where.Keys[f.name] = child.at
		d.value(child, v.FieldByIndex(f.index), join(path, key))
	}
	if w := v.FieldByName("Where"); w.IsValid() {
		w.Set(reflect.ValueOf(where))
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Former is implemented by pointers to structs that had more keys once: a map from
// each to what to write instead.
type Former interface{ FormerKeys() map[string]string }

func (d *decoder) unknown(key string, at Pos, known map[string]field, path string, v reflect.Value) {
	if f, ok := v.Addr().Interface().(Former); ok {
		if hint, gone := f.FormerKeys()[key]; gone {
			d.out.Add(at, hint, "%s no longer exists", join(path, key))
			return
		}
	}
	names := make([]string, 0, len(known))
	for n := range known {
		names = append(names, n)
	}
	sort.Strings(names)
	hint := ""
	if near := nearest.Of(key, names); near != "" {
		hint = "did you mean " + quote(near) + "?"
	} else {
		hint = "valid keys: " + strings.Join(names, ", ")
	}
	if path == "" {
		d.out.Add(at, hint, "unknown table or key %s", quote(key))
		return
	}
	d.out.Add(at, hint, "unknown key %s in %s", quote(key), path)
}

func quote(s string) string { return `"` + s + `"` }

var durationType = reflect.TypeFor[time.Duration]()

// value decodes n into v, a settable value.
func (d *decoder) value(n *node, v reflect.Value, path string) {
	if u, ok := v.Addr().Interface().(Unmarshaler); ok {
		if hint, err := u.UnmarshalTOML(Value{n}); err != nil {
			d.out.Add(n.at, hint, "%s: %v", path, err)
		}
		return
	}
	if v.Type() == durationType {
		d.duration(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		d.value(n, p.Elem(), path)
		v.Set(p)
	case reflect.String:
		if d.want(n, String, path) {
			v.SetString(n.str)
		}
	case reflect.Bool:
		if d.want(n, Bool, path) {
			v.SetBool(n.truth)
		}
	case reflect.Int, reflect.Int64:
		if d.want(n, Int, path) {
			v.SetInt(n.num)
		}
	case reflect.Float64:
		d.float(n, v, path)
	case reflect.Slice:
		d.slice(n, v, path)
	case reflect.Map:
		d.mapping(n, v, path)
	case reflect.Struct:
		if d.want(n, Table, path) {
			d.table(n, v, path)
		}
	}
}

// want reports whether n has kind k; if not, it adds a problem.
func (d *decoder) want(n *node, k Kind, path string) bool {
	if n.kind == k {
		return true
	}
	hint := ""
	switch {
	case k == String:
		hint = "put the value in quotes"
	case k == Bool:
		hint = "write true or false, without quotes"
	case k == Array && n.kind == Table:
		hint = "write [[" + path + "]]: there can be several"
	case k == Array:
		hint = `write ["a", "b"]`
	}
	d.out.Add(n.at, hint, "%s must be %s, not %s", path, k, n.kind)
	return false
}

func (d *decoder) float(n *node, v reflect.Value, path string) {
	if n.kind == Int {
		v.SetFloat(float64(n.num))
		return
	}
	if d.want(n, Float, path) {
		v.SetFloat(n.float)
	}
}

func (d *decoder) duration(n *node, v reflect.Value, path string) {
	const hint = `write a number with a unit: "500ms", "30s", "5m", "1h"`
	if n.kind != String {
		d.out.Add(n.at, hint, "%s must be a duration, not %s", path, n.kind)
		return
	}
	if n.str == "off" {
		v.SetInt(0)
		return
	}
	dur, err := time.ParseDuration(n.str)
	switch {
	case err != nil:
		d.out.Add(n.at, hint, "%s: %s is not a duration", path, quote(n.str))
	case dur < 0:
		d.out.Add(n.at, hint, "%s: %s is negative", path, quote(n.str))
	default:
		v.SetInt(int64(dur))
	}
}

func (d *decoder) slice(n *node, v reflect.Value, path string) {
	if !d.want(n, Array, path) {
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		elem := path
		if item.kind == Table {
			elem = "[[" + strings.NewReplacer("[[", "", "]]", "").Replace(path) + "]]"
		}
		d.value(item, out.Index(i), elem)
	}
	v.Set(out)
}

func (d *decoder) mapping(n *node, v reflect.Value, path string) {
	if !d.want(n, Table, path) {
		return
	}
	out := reflect.MakeMapWithSize(v.Type(), len(n.keys))
	for _, key := range n.keys {
		elem := reflect.New(v.Type().Elem()).Elem()
		d.value(n.table[key], elem, join(path, key))
		out.SetMapIndex(reflect.ValueOf(key), elem)
	}
	v.Set(out)
}
