package conversation

import (
	"fmt"
	"strings"
	"testing"
)

// A tool call that shows a terminal has its output, whenever that becomes known.
func TestTerminals(t *testing.T) {
	c := New()
	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"t","content":[{"type":"content","content":{"type":"text","text":"before"}},{"type":"terminal","terminalId":"T"},{"type":"widget"}]}`)
	same(t, "unknown", lastTool(t, c).Output, "before\n[terminal T]\n[widget]")
	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output_delta":{"terminal_id":"T","data":"one\n\u001b[31mtw"}}}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"t","_meta":{"terminal_output_delta":{"terminal_id":"T","data":"o\n"}}}`)
	same(t, "chunks", lastTool(t, c).Output, "before\none\ntwo\n[widget]")
	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","_meta":{"terminal_exit":{"terminal_id":"T","exit_code":0}}}`)
	c.Printed("T", "all", true)
	same(t, "afterwards", lastTool(t, c).Output, "before\nall\n[widget]")

	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"silent","content":[{"type":"terminal","terminalId":"S"}]}`,
		`{"sessionUpdate":"tool_call_update","toolCallId":"silent","status":"completed","_meta":{"terminal_exit":{"terminal_id":"S"}}}`)
	same(t, "silent", lastTool(t, c).Output, "")
	c.Printed("early", strings.Repeat("line\n", maxOutput), true)
	apply(t, c, `{"sessionUpdate":"tool_call","toolCallId":"late","content":[{"type":"terminal","terminalId":"early"}]}`)
	if late := lastTool(t, c); len(late.Output) > maxOutput || late.Cut < maxOutput*3/4 {
		t.Errorf("%d bytes, %d lines cut", len(late.Output), late.Cut)
	}
	apply(t, c, `{"sessionUpdate":"tool_call_update","toolCallId":"odd","_meta":{"terminal_output":7}}`, `{"sessionUpdate":"tool_call_update","toolCallId":"odd","_meta":[]}`)
	for i := range 3 * maxTerminals {
		c.Printed(fmt.Sprint(i), "x", false)
	}
	if len(c.terminals) > maxTerminals {
		t.Errorf("%d terminals", len(c.terminals))
	}
}
