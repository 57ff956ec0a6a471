package store

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// writerEnv turns the test binary into a writer of the database it names.
const writerEnv = "STORE_TEST_WRITER"

// writeForever commits 1, 2, 3 … one at a time and prints each once
// acknowledged; each transaction also overwrites the previous entries.
func writeForever(path string) {
	db, err := Open(path, testSchema)
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	for i := len(countAll(db)) + 1; ; i++ {
		write := db.Update
		if i%2 == 0 {
			write = db.Batch
		}
		err := write(func(tx *Tx) error {
			if err := records.Put(tx, "newest", record{N: i, Data: make([]byte, i*37%9000)}); err != nil {
				return err
			}
			return records.Put(tx, fmt.Sprintf("key %06d", i), record{N: i})
		})
		if err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

func countAll(db *DB) (found []int) {
	_ = db.View(func(tx *Tx) error {
		for _, v := range records.All(tx, "key ") {
			found = append(found, v.N)
		}
		return nil
	})
	return found
}

// TestKill9: what a writer acknowledged before kill -9 is there afterwards,
// plus at most one transaction.
func TestKill9(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	acked := 0
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerEnv+"="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if _, err := fmt.Sscan(lines.Text(), &acked); err != nil || strings.HasPrefix(lines.Text(), "error") {
				t.Fatalf("writer: %s", lines.Text())
			}
			if n == 20+round*7 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait()

		db := mustOpen(t, path, testSchema)
		found := countAll(db)
		for i, n := range found {
			if n != i+1 {
				t.Fatalf("round %d: entry %d holds %d", round, i, n)
			}
		}
		if len(found) != acked && len(found) != acked+1 {
			t.Errorf("round %d: %d acknowledged, %d found", round, acked, len(found))
		}
		if newest := contents(t, db)["newest"]; newest != len(found) {
			t.Errorf("round %d: newest is %d of %d", round, newest, len(found))
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
