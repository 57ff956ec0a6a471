package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"gascity.dev/gc/internal/acp/control"
	"gascity.dev/gc/internal/acp/transcript"
	"gascity.dev/gc/internal/self"
)

// What a gc on the host's machine does for one on another: it takes the launch file, and
// reads the transcript.
const (
	receive = "receive"
	entries = "entries"
)

// ReceiveArgs are the arguments that make gc write the launch on its standard input to a
// file, whose path it prints. A relative Launch.Dir is below the user's state directory.
func ReceiveArgs() []string { return []string{mark, receive} }

// EntriesArgs are the arguments that make gc print the entries of the transcript in a
// directory, as in Launch.Dir, whose number is greater than after: a line of JSON each.
func EntriesArgs(dir string, after int64) []string {
	return []string{mark, entries, dir, strconv.FormatInt(after, 10)}
}

func runReceive(in io.Reader, out io.Writer) error {
	var l control.Launch
	if err := json.NewDecoder(in).Decode(&l); err != nil {
		return err
	}
	var err error
	if l.Dir, err = stateDir(l.Dir); err != nil {
		return err
	}
	for i := range l.MCPServers { // gc's own: the path is that of another machine
		if m := &l.MCPServers[i]; m.Name == ownServer {
			if m.Command, err = self.Program(); err != nil {
				return err
			}
		}
	}
	file, err := control.WriteLaunch(l)
	if err == nil {
		_, err = fmt.Fprintln(out, file)
	}
	return err
}

// ownServer is the name of the MCP server that gc itself is.
const ownServer = "gc"

func runEntries(dir, after string, out io.Writer) error {
	dir, err := stateDir(dir)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(after, 10, 64)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	return transcript.Read(dir, n, func(e transcript.Entry) error { return enc.Encode(e) })
}

// stateDir returns a directory for what hosts keep.
func stateDir(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return dir, nil
	}
	if !filepath.IsLocal(dir) {
		return "", fmt.Errorf("%q is not a directory below another", dir)
	}
	state := os.Getenv("XDG_STATE_HOME")
	if state == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("neither XDG_STATE_HOME nor HOME is set")
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "gc", "acp", dir), nil
}
