package wire

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// Call sends a request and returns its id, which is above 0. The answer comes as a
// Message. Params may be nil.
func (c *Conn) Call(method string, params any) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock() // ids are written in their order
	id := c.calls + 1
	line, err := encode(`"id":`+strconv.FormatInt(id, 10)+`,"method":`+quote(method), "params", params)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", method, err)
	}
	if err := c.out.add(outgoing{line: line, call: id}); err != nil {
		return 0, err
	}
	c.calls = id
	c.open[id] = struct{}{}
	return id, nil
}

// Forget gives up a call: its answer is ignored. It reports whether the call was open.
func (c *Conn) Forget(call int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.open[call]
	delete(c.open, call)
	return ok
}

// Notify sends a notification. Params may be nil.
func (c *Conn) Notify(method string, params any) error {
	return c.send(`"method":`+quote(method), "params", params)
}

// Reply answers a request of the agent. Result may be nil.
func (c *Conn) Reply(id json.RawMessage, result any) error {
	if result == nil {
		result = json.RawMessage("null")
	}
	return c.send(`"id":`+string(id), "result", result)
}

// ReplyError answers a request of the agent with an error.
func (c *Conn) ReplyError(id json.RawMessage, code int64, message string) error {
	return c.send(`"id":`+string(id), "error", Error{Code: code, Message: message})
}

func (c *Conn) send(members, key string, value any) error {
	line, err := encode(members, key, value)
	if err != nil {
		return err
	}
	return c.out.add(outgoing{line: line})
}

// encode makes a line. The members are written as they are, since an encoder would
// write an agent's id in another form.
func encode(members, key string, value any) ([]byte, error) {
	line := []byte(`{"jsonrpc":"2.0",` + members)
	if value != nil {
		v, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		line = append(append(line, `,"`+key+`":`...), v...)
	}
	return append(line, "}\n"...), nil
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
