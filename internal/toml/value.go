package toml

// Where records which keys of a table the file sets, and where. Decoding fills
// it in structs that embed it.
type Where struct {
	At   Pos            // the table itself
	Keys map[string]Pos // every key that was set
}

// Has reports whether the file sets key.
func (w Where) Has(key string) bool {
	_, ok := w.Keys[key]
	return ok
}

// Place returns the position of key, or of the table if the key is not set.
func (w Where) Place(key string) Pos {
	if p, ok := w.Keys[key]; ok {
		return p
	}
	return w.At
}

// Kind is the type of a value in the file.
type Kind int

// The kinds of values.
const (
	String Kind = iota
	Int
	Float
	Bool
	Time
	Array
	Table
)

// String returns the kind's name, for people.
func (k Kind) String() string {
	return [...]string{"a string", "an integer", "a number", "a boolean", "a date or time", "an array", "a table"}[k]
}

// Unmarshaler is a type with its own syntax in a file. Its error is reported at
// the value's position, with the hint.
type Unmarshaler interface {
	UnmarshalTOML(v Value) (hint string, err error)
}

// Value is one value of a file, for an [Unmarshaler].
type Value struct{ n *node }

// Kind is the value's type.
func (v Value) Kind() Kind { return v.n.kind }

// Text is the value of a String, "" for others.
func (v Value) Text() string { return v.n.str }

// Int is the value of an Int, 0 for others.
func (v Value) Int() int64 { return v.n.num }

// Float is the value of a Float, 0 for others.
func (v Value) Float() float64 { return v.n.float }
