package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Kind is the kind of a message.
type Kind int

// Kinds of messages.
const (
	Notification Kind = iota
	Request           // to be answered with Reply or ReplyError
	Response          // the answer to a call
)

// Message is one message from the agent.
type Message struct {
	Kind   Kind
	Method string          // Notification, Request
	ID     json.RawMessage // Request: the agent's id, as it came; any JSON value, null included
	Params json.RawMessage // Notification, Request: nil without
	Call   int64           // Response: what Call returned
	Result json.RawMessage // Response: may be null; nil if Err is set
	Err    *Error          // Response: the call failed
}

// Codes of errors.
const (
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternal       = -32603
)

// Error is the error of an answer.
type Error struct {
	Code    int64           `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// A prefix before a message is searched only here, and only so many braces are tried.
const (
	maxPrefix  = 4 << 10
	maxAttempt = 16
)

var bom = []byte("\xef\xbb\xbf")

// trim removes blanks, carriage returns and a byte order mark around a message.
func trim(line []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), bom))
}

// parse returns the message of a trimmed line; false means that it is junk.
func parse(line []byte) (Message, bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(line, &fields) == nil {
		return classify(fields)
	}
	if !bytes.Contains(line, []byte(`"jsonrpc"`)) || json.Valid(line) {
		return Message{}, false
	}
	return parseAfterPrefix(line)
}

// parseAfterPrefix finds a message behind text that another writer put on the same
// line. Only an object that says "jsonrpc" counts.
func parseAfterPrefix(line []byte) (Message, bool) {
	at := 0
	for range maxAttempt {
		i := bytes.IndexByte(line[at:], '{')
		if i < 0 || at+i > maxPrefix {
			break
		}
		at += i
		var fields map[string]json.RawMessage
		if json.Unmarshal(line[at:], &fields) == nil && fields["jsonrpc"] != nil {
			return classify(fields)
		}
		at++
	}
	return Message{}, false
}

// classify makes a message of an object with a method, or with an id and a result or
// an error. Keys count as they are written: a log line may have an "ID".
func classify(fields map[string]json.RawMessage) (Message, bool) {
	id, hasID := fields["id"]
	if raw, ok := fields["method"]; ok {
		m := Message{Kind: Notification, Params: fields["params"]}
		if json.Unmarshal(raw, &m.Method) != nil || m.Method == "" {
			return Message{}, false
		}
		if hasID {
			m.Kind, m.ID = Request, id
		}
		return m, true
	}
	if !hasID || isNull(id) {
		return Message{}, false
	}
	m := Message{Kind: Response, Call: callID(id)}
	if raw, ok := fields["error"]; ok && !isNull(raw) {
		m.Err = parseError(raw)
		return m, m.Err != nil
	}
	result, ok := fields["result"]
	m.Result = result
	return m, ok
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// callID returns the number of an id; 0, which no call has, if it is not ours.
func callID(raw json.RawMessage) int64 {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// parseError reads an error object. Members of a wrong type are skipped; nil
// means that it is not an object.
func parseError(raw json.RawMessage) *Error {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	e := &Error{Data: fields["data"]}
	_ = json.Unmarshal(fields["code"], &e.Code)
	if json.Unmarshal(fields["message"], &e.Message) != nil {
		e.Message = string(fields["message"])
	}
	if e.Message = strings.TrimSpace(e.Message); e.Message == "" {
		e.Message = "error " + strconv.FormatInt(e.Code, 10)
	}
	return e
}

// head is the beginning of a message that is too long.
type head struct {
	method string
	id     json.RawMessage // nil if it is not there
	hasID  bool
}

// parseHead reads the members of an incomplete object up to the first that is not
// complete.
func parseHead(start []byte) head {
	var h head
	dec := json.NewDecoder(bytes.NewReader(start))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return h
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return h
		}
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			return h
		}
		switch key {
		case "id":
			h.id, h.hasID = value, true
		case "method":
			_ = json.Unmarshal(value, &h.method)
		}
	}
	return h
}
