package config

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
)

// Identity is what a city's first start decides about it, for ever. It lies in
// the city's .gc folder.
type Identity struct {
	ID      string `json:"id"`            // 8 hex digits, random
	Path    string `json:"path"`          // the folder it is in
	Was     string `json:"was,omitempty"` // the folder it was moved from, "" for none
	Space   string `json:"space"`         // the names it was decided for
	InNames bool   `json:"inNames"`       // another city owned these: the id is part of the session names
}

// identityDigits is the length of an id.
const identityDigits = 8

// IdentityPath is where the identity of the city in dir lies.
func IdentityPath(dir string) string { return filepath.Join(dir, ".gc", "identity.json") }

// ReadIdentity returns the identity of the city in dir (absolute); false when it
// has none yet, as a copy of a folder that is still there.
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

// MovedFrom is the folder that the city in dir (absolute) was in before, and where
// no city is now; "" for none. What still runs from there is this city's.
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

// nameID is the id as far as it is part of the names.
func nameID(dir string) string {
	if i, ok := ReadIdentity(dir); ok && i.InNames {
		return i.ID
	}
	return ""
}
