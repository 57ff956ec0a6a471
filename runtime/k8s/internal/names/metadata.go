package names

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// MaxMetadata is how many bytes of annotations a session's metadata may use, names
// included. A cluster allows 256 KiB for all annotations of a pod.
const MaxMetadata = 128 << 10

// ErrMetadataTooLarge is the error of a value that would pass the limit.
var ErrMetadataTooLarge = errors.New("the session's metadata are too large for its pod")

const metadataPrefix = "meta." + Domain + "/"

// MetadataName returns the name of the annotation that holds a key's value. Keys may
// be any text; a digest of one is a valid name.
func MetadataName(key string) string { return metadataPrefix + digest(key) }

// Encode returns the annotation that holds a key and its value.
func Encode(key, value string) (name, text string) {
	return MetadataName(key), encode(key) + "." + encode(value)
}

// Decode returns the metadata among a pod's annotations. Annotations that are not
// metadata are skipped; a damaged one is an error, and the others are returned.
func Decode(annotations map[string]string) (map[string]string, error) {
	metadata := map[string]string{}
	var damaged []error
	for name, text := range annotations {
		if !strings.HasPrefix(name, metadataPrefix) {
			continue
		}
		key, value, err := decode(text)
		if err == nil && MetadataName(key) != name {
			err = errors.New("its key does not match its name")
		}
		if err != nil {
			damaged = append(damaged, fmt.Errorf("annotation %s: %w", name, err))
			continue
		}
		metadata[key] = value
	}
	return metadata, errors.Join(damaged...)
}

// CheckMetadata returns an ErrMetadataTooLarge if the annotations of a pod, with
// key set to value, would hold more metadata than they may.
func CheckMetadata(annotations map[string]string, key, value string) error {
	name, text := Encode(key, value)
	size := len(name) + len(text)
	for other, text := range annotations {
		if other != name && strings.HasPrefix(other, metadataPrefix) {
			size += len(other) + len(text)
		}
	}
	if size > MaxMetadata {
		return fmt.Errorf("%w: %d bytes with the new value, %d are allowed", ErrMetadataTooLarge, size, MaxMetadata)
	}
	return nil
}

func encode(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func decode(text string) (key, value string, err error) {
	before, after, found := strings.Cut(text, ".")
	if !found {
		return "", "", errors.New("no separator")
	}
	k, err := base64.StdEncoding.DecodeString(before)
	if err != nil {
		return "", "", err
	}
	v, err := base64.StdEncoding.DecodeString(after)
	return string(k), string(v), err
}
