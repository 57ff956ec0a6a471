package proctree

import (
	"bufio"
	"crypto/rand"
	"os/exec"
	"strings"
	"testing"
)

func TestRootsAreTheFirstOfTheirMark(t *testing.T) {
	id := "roots-" + rand.Text()
	cmd := exec.Command("/bin/sh", "-c", `sh -c 'echo up; read x; :'; :`)
	cmd.Env = []string{"PATH=/usr/bin:/bin", SessionVar + "=" + id, "COLOUR=blue"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || strings.TrimSpace(line) != "up" {
		t.Fatalf("%q, %v", line, err)
	}
	roots, err := Roots(id)
	if err != nil || len(roots) != 1 || roots[0].PID != cmd.Process.Pid || roots[0].Env["COLOUR"] != "blue" {
		t.Errorf("%+v, %v", roots, err)
	}
	all, err := Roots("")
	if err != nil || len(all) < 1 {
		t.Errorf("%d roots, %v", len(all), err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if roots, err := Roots(id); err != nil || len(roots) != 0 {
		t.Errorf("after the end: %+v, %v", roots, err)
	}
}
