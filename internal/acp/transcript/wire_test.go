package transcript

import (
	"strings"
	"testing"
)

func TestWire(t *testing.T) {
	dir := t.TempDir()
	if found, err := ReadWire(dir, func([]byte) error { return nil }); found || err != nil {
		t.Errorf("nothing kept: %v, %v", found, err)
	}
	w, err := NewWire(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Add(true, []byte(`{"id":1}`))
	w.Add(false, []byte("no JSON"))
	w.Add(false, []byte(`{"id":2,"method":"session/new","params":{"cwd":"/w","mcpServers":[{"name":"db","env":[{"name":"T","value":"hunter2"}]},{"name":"w","headers":[{"name":"A","value":"hunter3"}]}]}}`))
	w.Add(false, []byte(`{"params":{"text":"the \"mcpServers\" are"}}`))
	big := `"` + strings.Repeat("x", 3<<20) + `"`
	for range 4 {
		w.Add(false, []byte(big))
	}
	var got []string
	found, err := ReadWire(dir, func(line []byte) error { got = append(got, string(line)); return nil })
	if !found || err != nil || len(got) != 7 {
		t.Fatalf("%d lines, %v, %v", len(got), found, err)
	}
	if strings.Contains(got[1], "hunter") || !strings.Contains(got[1], `"cwd":"/w"`) || !strings.Contains(got[1], `"name":"T"`) || !strings.Contains(got[2], "are") {
		t.Errorf("secrets: %s %s", got[1], got[2])
	}
	if !strings.HasSuffix(got[0], `"dir":"a2c","msg":{"id":1}}`) || !strings.Contains(got[6], `"dir":"c2a"`) {
		t.Errorf("%s … %.60s", got[0], got[6])
	}
}
