package attach

import (
	"testing"

	"gascity.dev/gc/mux/client"
)

// TestKeptInput: only input that the server does not have is sent again, in order.
func TestKeptInput(t *testing.T) {
	var k keptInput
	if got := k.resume(client.Typed{Known: true}, nil); len(got) > 0 {
		t.Errorf("at first %q is sent", got)
	}
	k.add([]byte("abc"))
	k.add([]byte("defg"))
	k.taken(2)
	if got := string(k.resume(client.Typed{Known: true, Taken: 4, Lost: 1}, []byte("defg"))); got != "efg" || k.lost != 1 {
		t.Errorf("4 were Taken: %q is sent, %d lost", got, k.lost)
	}
	k.add([]byte("h"))
	if got := string(k.resume(client.Typed{Known: true, Taken: 4, Lost: 1}, nil)); got != "efgh" || k.lost != 1 {
		t.Errorf("the same again: %q is sent, %d lost", got, k.lost)
	}
	if got := string(k.resume(client.Typed{}, []byte("h"))); got != "h" {
		t.Errorf("a server that does not count: %q is sent", got)
	}
	k.add([]byte("i"))
	if got := string(k.resume(client.Typed{Known: true, Taken: 2}, []byte("i"))); got != "i" || k.base != 2 {
		t.Errorf("one that counts again: %q is sent, from %d", got, k.base)
	}
}
