package config

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// Identity is what a city's first start decides about it, permanently. It is
// stored in the city's .gc directory.
type Identity struct {
	ID      string `json:"id"`            // 8 hex digits, random
	Path    string `json:"path"`          // the directory it is in
	Was     string `json:"was,omitempty"` // the folder it was moved from, "" for none
	Space   string `json:"space"`         // the session names it was decided for
	InNames bool   `json:"inNames"`       // another city owned these: the id is part of the session names
}

// identityDigits is the length of an id.
const identityDigits = 8

// IdentityPath is the path of the identity of the city in dir.
func IdentityPath(dir string) string { return filepath.Join(dir, ".gc", "identity.json") }

// ReadIdentity returns the identity of the city in dir (absolute); false if it
// has none yet, such as a copy of a directory that still exists.
func ReadIdentity(dir string) (Identity, bool) {
	i, ok := readIdentity(dir)
	if !ok || i.Path == dir {
		return i, ok
	}
	if original, there := readIdentity(i.Path); there && original.ID == i.ID {
		return Identity{}, false
	}
	return i, true // it was moved
}

func readIdentity(dir string) (Identity, bool) {
	var i Identity
	b, err := os.ReadFile(IdentityPath(dir))
	if err != nil || json.Unmarshal(b, &i) != nil {
		return Identity{}, false
	}
	_, err = hex.DecodeString(i.ID)
	return i, err == nil && len(i.ID) == identityDigits
}

// MovedFrom returns the previous directory of the city in dir (absolute) if no
// city is there now; "" otherwise. Sessions still running from there are this
// city's.
func MovedFrom(dir string) string {
	i, ok := ReadIdentity(dir)
	was := i.Was
	if ok && i.Path != dir {
		was = i.Path
	}
	if _, another := readIdentity(was); was == "" || another {
		return ""
	}
	return was
}

// nameID returns the id if it is part of the names.
func nameID(dir string) string {
	if i, ok := ReadIdentity(dir); ok && i.InNames {
		return i.ID
	}
	return ""
}
