//go:build e2e

package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
)

// TestSleepingPage: a page that sleeps while an agent that it looks at and is attached to prints
// 32 MiB slows nothing, and gets what is newest when it wakes, not what it slept through.
func TestSleepingPage(t *testing.T) {
	w := newPlace(t)
	w.run("session", "new", "flood", "--size", "100x30", "--", "sh", "-c",
		"read go; head -c 32000000 /dev/zero | tr '\\0' x | fold -w 99; echo; echo the very end; exec cat")
	w.serve()
	ws := w.sleepingPage(t, `{"op":"look","looks":[{"id":"flood"}]}`, `{"op":"attach","n":1,"id":"flood","cols":100,"rows":30}`)
	w.run("session", "keys", "flood", "Enter")
	w.run("session", "wait", "flood", "--until", "text=^the very end", "--timeout", "60s")
	ws.SetReadLimit(64 << 20)
	got, cells, terminal := 0, false, false
	for !cells || !terminal {
		kind, data, err := ws.Read(t.Context())
		if err != nil {
			t.Fatalf("after %d bytes, with cells %v, terminal %v: %v", got, cells, terminal, err)
		}
		got += len(data)
		if kind == websocket.MessageBinary {
			terminal = terminal || bytes.Contains(data, []byte("the very end"))
			ack := fmt.Sprintf(`{"op":"ack","n":1,"bytes":%d}`, len(data)-4)
			if err := ws.Write(t.Context(), websocket.MessageText, []byte(ack)); err != nil {
				t.Fatal(err)
			}
		} else {
			cells = cells || bytes.Contains(data, []byte(`"op":"screen"`)) && bytes.Contains(data, []byte("the very end"))
		}
	}
	if got > 8<<20 {
		t.Errorf("it got %d bytes when it woke", got)
	}
}

// sleepingPage is the connection of a page that sends messages, and then sleeps.
func (w *town) sleepingPage(t testing.TB, messages ...string) *websocket.Conn {
	t.Helper()
	base := "http://" + w.address
	login, err := http.NewRequest("POST", base+"/login", strings.NewReader(fmt.Sprintf(`{"token":%q}`, w.link())))
	if err != nil {
		t.Fatal(err)
	}
	login.Header.Set("Origin", base)
	resp, err := http.DefaultClient.Do(login)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var in struct{ Secret string }
	if err := json.NewDecoder(resp.Body).Decode(&in); err != nil || in.Secret == "" {
		t.Fatal(resp.Status, err)
	}
	cookie, _, _ := strings.Cut(resp.Header.Get("Set-Cookie"), ";")
	ws, _, err := websocket.Dial(t.Context(), "ws://"+w.address+"/live", &websocket.DialOptions{HTTPHeader: http.Header{"Cookie": {cookie}, "Origin": {base}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ws.CloseNow() })
	for _, m := range append([]string{fmt.Sprintf(`{"secret":%q}`, in.Secret)}, messages...) {
		if err := ws.Write(t.Context(), websocket.MessageText, []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	return ws
}
