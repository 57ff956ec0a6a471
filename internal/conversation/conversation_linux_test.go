package conversation

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The command finds the file that a program of this session has open, and no other's.
func TestOpenFileCommand(t *testing.T) {
	dir := t.TempDir()
	for id, session := range map[string]string{one: "mine", other: "theirs"} {
		name := filepath.Join(dir, "rollout-a b-"+id+".jsonl")
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("sh", "-c", `exec 9<"$0"; echo ready; read -r x`, name)
		cmd.Env = append(os.Environ(), "GC_SESSION_ID="+session)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer in.Close()
		if _, err := out.Read(make([]byte, 6)); err != nil {
			t.Fatal(err)
		}
	}
	find := exec.Command("sh", "-c", codex.Command())
	find.Env = append(os.Environ(), "GC_SESSION_ID=mine")
	out, err := find.Output()
	if err != nil || codex.Parse(string(out), 0) != one {
		t.Errorf("%q, %v", out, err)
	}

	// Nothing in the work directory counts, such as a link.
	if err := os.Symlink("/x/rollout-a-"+one+".jsonl", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	none := exec.Command("sh", "-c", codex.Command())
	none.Dir, none.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
	if out, err := none.Output(); err != nil || codex.Parse(string(out), 0) != "" {
		t.Errorf("without a session: %q, %v", out, err)
	}
}
