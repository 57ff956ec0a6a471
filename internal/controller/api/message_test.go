package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// What a far machine sends is checked before the city sees it.
func TestParseMessage(t *testing.T) {
	long := strings.Repeat("x", MaxNudge+1)
	const from = `"agent":"a","token":"t"`
	for body, want := range map[string]string{
		`{"kind":"drain-ack",` + from + `}`:                                              "",
		`{"kind":"request-restart",` + from + `,"later":{"a":1}}`:                        "",
		`{"kind":"nudge",` + from + `,"nudge":{"agent":"b","text":"x","ttl":5}}`:         "",
		`{"kind":"wait",` + from + `,"wait":{"agent":"b","until":"text=^x","wake":"a"}}`: "",
		`{"kind":"mail",` + from + `,"mail":{"id":"k","to":"b","text":"x"}}`:             "",
		`{"kind":"mail",` + from + `}`:                                                   "without a letter",
		`{"kind":"mail",` + from + `,"mail":{"id":"k","text":"x"}}`:                      "a name of 0 bytes",
		`{"kind":"mail",` + from + `,"mail":{"id":"","to":"b","text":"x"}}`:              "id",
		`{"kind":"mail-ack",` + from + `,"ack":["1","2"]}`:                               "",
		`{"kind":"mail-ack",` + from + `}`:                                               "of 0 letters",
		`{"kind":"mail-ack",` + from + `,"ack":[""]}`:                                    "a name of 0 bytes",
		``:                             "not a message",
		`[]`:                           "not a message",
		`{"kind":7}`:                   "not a message",
		`{}`:                           "unknown kind",
		`{"kind":"stop",` + from + `}`: `unknown kind "stop"`,
		`{"kind":"drain","agent":"a"}`: "a name of 0 bytes",
		`{"kind":"drain","token":"t"}`: "a name of 0 bytes",
		`{"kind":"drain","agent":"` + long + `","token":"t"}`:                                               "a name of",
		`{"kind":"nudge",` + from + `}`:                                                                     "without a text",
		`{"kind":"nudge",` + from + `,"nudge":{"agent":"b"}}`:                                               "without a text",
		`{"kind":"nudge",` + from + `,"nudge":{"text":"x"}}`:                                                "a name of 0 bytes",
		`{"kind":"nudge",` + from + `,"nudge":{"agent":"b","text":"` + long + `"}}`:                         "a text of 1048577 bytes",
		`{"kind":"wait",` + from + `}`:                                                                      "without a condition",
		`{"kind":"wait",` + from + `,"wait":{"agent":"b","until":"text=(","wake":"a"}}`:                     "regular expression",
		`{"kind":"wait",` + from + `,"wait":{"agent":"b","until":"exit"}}`:                                  "a name of 0 bytes",
		`{"kind":"wait",` + from + `,"wait":{"agent":"b","until":"exit","wake":"a","note":"` + long + `"}}`: "a note of",
	} {
		m, err := ParseMessage([]byte(body))
		switch {
		case want == "" && err != nil:
			t.Errorf("%.80s: %v", body, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%.80s: %v, want %q", body, err, want)
		case err != nil && len(err.Error()) > 200:
			t.Errorf("%.80s: an error of %d bytes", body, len(err.Error()))
		case want == "" && (m.Agent != "a" || m.Token != "t"):
			t.Errorf("%.80s: from %+v", body, m.InsideRequest)
		}
	}
}

func FuzzParseMessage(f *testing.F) {
	f.Add([]byte(`{"kind":"nudge","agent":"a","token":"t","nudge":{"agent":"b","text":"x"}}`))
	f.Add([]byte(`{"kind":"wait","agent":"a","token":"t","wait":{"agent":"b","until":"quiet=1s","wake":"a"}}`))
	f.Add([]byte(`{"kind":"mail","agent":"a","token":"t","mail":{"id":"k","to":"b","text":"x"},"ack":["1"]}`))
	f.Add([]byte(`{"kind":"mail-ack","agent":"a","token":"t","ack":["1"]}`))
	f.Add([]byte(`{"kind":"drain-ack","agent":"a","token":"t","nudge":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ParseMessage(body)
		if err != nil {
			return
		}
		if (m.Nudge != nil) != (m.Kind == MessageNudge) || (m.Wait != nil) != (m.Kind == MessageWait) ||
			(m.Mail != nil) != (m.Kind == MessageMail) || (m.Ack != nil) != (m.Kind == MessageMailAck) {
			t.Errorf("%s with %+v", m.Kind, m)
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ParseMessage(again); err != nil {
			t.Errorf("%s is not accepted again: %v", again, err)
		}
	})
}
