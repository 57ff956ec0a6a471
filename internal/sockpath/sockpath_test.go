package sockpath

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A socket can be made and reached whatever the length of its path.
func TestLongPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), strings.Repeat("long/", 40))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(dir, "s"), filepath.Join(t.TempDir(), "s")} {
		var l net.Listener
		listen := func(addr string) (err error) {
			l, err = net.Listen("unix", addr)
			return err
		}
		if err := With(path, listen); err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
		dial := func(addr string) error {
			c, err := net.Dial("unix", addr)
			if err == nil {
				c.Close()
			}
			return err
		}
		if err := With(path, dial); err != nil {
			t.Error(err)
		}
	}
}
