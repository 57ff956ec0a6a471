package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
)

// Decode reads an agent's params or result into v, a pointer to a struct. It fails
// only if they are not an object; absent or null ones leave v as it is.
func Decode(raw json.RawMessage, v any) error {
	var wrong *json.UnmarshalTypeError
	if err := DecodeExact(raw, v); !errors.As(err, &wrong) {
		return err
	}
	return nil
}

// DecodeExact is Decode, but fails also if a member has a wrong type. It is for
// requests that are carried out.
func DecodeExact(raw json.RawMessage, v any) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || isNull(raw) {
		return nil
	}
	if raw[0] != '{' {
		return errors.New("not an object")
	}
	return json.Unmarshal(raw, v)
}

// lenient fills what fits; encoding/json continues after a member of a wrong type.
func lenient(raw []byte, v any) { _ = json.Unmarshal(raw, v) }

func isNull(raw []byte) bool { return string(raw) == "null" }

// List is a list whose bad elements are left out. It is nil if the member is absent,
// null or no list, which an empty list is not.
type List[T any] []T

// UnmarshalJSON never fails.
func (l *List[T]) UnmarshalJSON(raw []byte) error {
	*l = nil
	var elements []json.RawMessage
	if json.Unmarshal(raw, &elements) != nil || elements == nil {
		return nil
	}
	*l = make(List[T], 0, len(elements))
	for _, e := range elements {
		var v T
		if e[0] != '{' {
			continue
		}
		lenient(e, &v)
		if c, ok := any(v).(interface{ complete() bool }); ok && !c.complete() {
			continue
		}
		*l = append(*l, v)
	}
	return nil
}

// offered is a capability: an object or true. Absent, null and false are not.
type offered bool

// UnmarshalJSON never fails.
func (o *offered) UnmarshalJSON(raw []byte) error {
	*o = raw[0] == '{' || string(raw) == "true"
	return nil
}

// count is a number of tokens and the like, in any form that JSON has for it.
type count int64

// UnmarshalJSON never fails.
func (c *count) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(raw, &f) == nil && f >= 0 && f < math.MaxInt64 {
		*c = count(f)
	}
	return nil
}
