package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"gascity.dev/gc/runtime"
)

// composerMeta keeps the Composer of a session's start with it, as JSON, where
// the backend itself knows nothing of it.
const composerMeta = "gc.composer"

// KeepComposer leaves the Composer of a session's start with the session, for
// [PlainText] of any process.
func KeepComposer(ctx context.Context, p runtime.Provider, name string, c runtime.Composer) error {
	if reflect.ValueOf(c).IsZero() {
		return nil
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return p.SetMeta(ctx, name, composerMeta, string(b))
}

// PlainText is the message as it must be typed into the session to arrive as
// text, and what was done to it, see [runtime.Receipt]. The error means that this cannot
// be told: nothing may be typed then.
func PlainText(ctx context.Context, p runtime.Provider, name string, content []runtime.ContentBlock) (text, changed string, err error) {
	text = runtime.FlattenText(content)
	if runtime.IsRaw(content) {
		return text, "", nil
	}
	kept, err := p.GetMeta(ctx, name, composerMeta)
	if err != nil || kept == "" {
		return text, "", err
	}
	var c runtime.Composer
	if err := json.Unmarshal([]byte(kept), &c); err != nil {
		return "", "", fmt.Errorf("metadata %s of %s: %w", composerMeta, name, err)
	}
	text, changed = c.Plain(text)
	return text, changed, nil
}
