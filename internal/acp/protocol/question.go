package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
)

// PermissionRequest asks whether a tool call may be carried out.
type PermissionRequest struct {
	SessionID string                 `json:"sessionId"`
	ToolCall  ToolCall               `json:"toolCall"`
	Options   List[PermissionOption] `json:"options"`
}

// Kinds of options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// PermissionOption is a possible answer.
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"` // one of the above, or one that the protocol does not know
}

func (o PermissionOption) complete() bool { return o.OptionID != "" }

// PermissionResult answers a PermissionRequest.
type PermissionResult struct {
	Outcome struct {
		Outcome  string `json:"outcome"`
		OptionID string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

// Selected chooses an option.
func Selected(option string) PermissionResult {
	var r PermissionResult
	r.Outcome.Outcome, r.Outcome.OptionID = "selected", option
	return r
}

// Cancelled means that the turn was cancelled before an answer.
func Cancelled() PermissionResult {
	var r PermissionResult
	r.Outcome.Outcome = "cancelled"
	return r
}

// ModeForm is the mode of a question with a form.
const ModeForm = "form"

// ElicitationRequest asks for values.
type ElicitationRequest struct {
	SessionID  string `json:"sessionId"`
	ToolCallID string `json:"toolCallId"`
	Mode       string `json:"mode"` // ModeForm, or one that is not supported
	Message    string `json:"message"`
	Schema     struct {
		Properties Fields
		Required   []string
	} `json:"requestedSchema"`
}

// Field returns the field that the form asks for: its only one, or its only required one.
// It is false without such a field, and for one whose answer is a list.
func (r ElicitationRequest) Field() (Field, bool) {
	fields := r.Schema.Properties
	if len(fields) > 1 {
		fields = slices.DeleteFunc(slices.Clone(fields), func(f Field) bool { return !slices.Contains(r.Schema.Required, f.Name) })
	}
	if len(fields) != 1 || fields[0].Type == "array" {
		return Field{}, false
	}
	return fields[0], true
}

// Fields are the fields of a form, in the agent's order.
type Fields []Field

// Field is a field of a form.
type Field struct {
	Name        string // the key of its value
	Type        string // string, number, integer, boolean, array, or any other
	Title       string
	Description string
	Choices     []FieldChoice // if only these values are right
}

// FieldChoice is a value of a field.
type FieldChoice struct{ Value, Title string }

// Value returns the value of a field as the form wants it.
func (f Field) Value(text string) (any, error) {
	switch f.Type {
	case "boolean":
		if b, err := strconv.ParseBool(text); err == nil {
			return b, nil
		}
		return nil, errors.New("want true or false")
	case "integer":
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n, nil
		}
		return nil, errors.New("want a whole number")
	case "number":
		if n, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(n) && !math.IsInf(n, 0) {
			return n, nil
		}
		return nil, errors.New("want a number")
	}
	return text, nil
}

// UnmarshalJSON never fails.
func (f *Fields) UnmarshalJSON(raw []byte) error {
	*f = nil
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return nil
		}
		if name, ok := key.(string); ok && value[0] == '{' {
			*f = append(*f, field(name, value))
		}
	}
	return nil
}

// field reads the schema of a field.
func field(name string, raw []byte) Field {
	type choice struct{ Const, Title string }
	var w struct {
		Type, Title, Description string
		Enum                     []string
		EnumNames                []string
		OneOf                    List[choice]
	}
	lenient(raw, &w)
	f := Field{Name: name, Type: w.Type, Title: w.Title, Description: w.Description}
	for i, v := range w.Enum {
		c := FieldChoice{Value: v}
		if i < len(w.EnumNames) {
			c.Title = w.EnumNames[i]
		}
		f.Choices = append(f.Choices, c)
	}
	for _, c := range w.OneOf {
		f.Choices = append(f.Choices, FieldChoice{c.Const, c.Title})
	}
	if f.Type == "boolean" {
		f.Choices = []FieldChoice{{Value: "true"}, {Value: "false"}}
	}
	return f
}

// Actions that answer an ElicitationRequest.
const (
	ActionAccept  = "accept"
	ActionDecline = "decline"
	ActionCancel  = "cancel"
)

// ElicitationResult answers an ElicitationRequest.
type ElicitationResult struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"` // ActionAccept
}
