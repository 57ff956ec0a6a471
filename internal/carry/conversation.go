package carry

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// ErrNoConversation means that the source has no files of the conversation.
var ErrNoConversation = errors.New("it keeps no files of the conversation")

// Conversation is the files in which a program keeps one conversation.
type Conversation struct {
	// Dir is their directory, a word of the shell with its variables. {dir} stands for the
	// program's working directory, its symbolic links resolved, with - for every character
	// that is no ASCII letter or digit.
	Dir string
	// Files is a pattern of the shell for their names in Dir; {id} stands for ID.
	Files string
	ID    string
}

// plainID is what an id may be: a part of a file's name, and nothing to the shell.
var plainID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z_-]*$`) })

// Take takes the files from one place to another. A file that is there already must be an
// earlier state of it, its beginning: else ErrConflict, and nothing is changed.
func (c Conversation) Take(ctx context.Context, from, to Place) error {
	if !plainID().MatchString(c.ID) {
		return fmt.Errorf("conversation %q: not a name of a file", c.ID)
	}
	fill := strings.NewReplacer("@DIR@", strings.ReplaceAll(c.Dir, "{dir}", "$GC_DIR"), "@FILES@", strings.ReplaceAll(c.Files, "{id}", c.ID))
	err := pass(ctx, from, fill.Replace(packConversation), to, fill.Replace(unpackConversation))
	if errors.Is(err, errNothing) {
		return ErrNoConversation
	}
	return err
}
