package driver

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"gascity.dev/gc/runtime"
)

// composerMeta is the metadata key that holds a session's Composer, as JSON, for
// backends that do not keep it themselves.
const composerMeta = "gc.composer"

// KeepComposer stores the Composer in the session's metadata, for [PlainText] in
// any process.
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

// PlainText returns the message as it must be typed into the session to arrive as
// text, and how it was changed (Changed of [runtime.Receipt]). If it fails, nothing
// may be typed.
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
