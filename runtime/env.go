package runtime

import (
	"slices"
	"strings"

	"gascity.dev/gc/internal/environ"
)

// Environment returns the whole environment of a session, sorted: the inherited
// variables of caller and where gc is there, then each layer. A layer's "" unsets a variable.
func Environment(caller []string, layers ...map[string]string) []string {
	env := map[string]string{}
	for _, kv := range caller {
		if k, v, ok := strings.Cut(kv, "="); ok && (environ.Inherited(k) || environ.Place(k, v)) {
			env[k] = v
		}
	}
	for _, layer := range layers {
		for k, v := range layer {
			if v == "" {
				delete(env, k)
				continue
			}
			env[k] = v
		}
	}
	out := make([]string, 0, len(env))
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}
