package tmuxshim

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"

	"gascity.dev/gc/internal/tmuxshim/world"
	"gascity.dev/gc/mux/keys"
)

var keyCommands = []*command{
	{name: "send-keys", alias: "send", spec: "FHlMN:Rt:X", most: -1, run: sendKeys},
	{name: "send-prefix", spec: "2t:", run: func(ctx context.Context, c *call) error { c.rest = []string{"C-b"}; return sendKeys(ctx, c) }},
}

// sendKeys types all operands at once: keys by name, what is no name as text.
func sendKeys(ctx context.Context, c *call) error {
	_, p, err := c.look(ctx, world.KindPane)
	if err != nil {
		return err
	}
	if c.has('X') {
		return fmt.Errorf("not in a mode")
	}
	if c.has('R') {
		if err := c.mux.ClearHistory(ctx, p.Pane.Mux); err != nil {
			return err
		}
	}
	once, literal, err := c.typed()
	if err != nil || len(once) == 0 {
		return err
	}
	times := 1
	if c.has('N') {
		if times, err = strconv.Atoi(c.value('N')); err != nil {
			return fmt.Errorf("repeat count invalid")
		} else if times < 1 {
			return fmt.Errorf("repeat count too small")
		}
	}
	var all []string
	for range times {
		all = append(all, once...)
	}
	return c.mux.Keys(ctx, p.Pane.Mux, all, literal)
}

// typed is what the operands type.
func (c *call) typed() (all []string, literal bool, err error) {
	for _, word := range c.rest {
		switch {
		case c.has('H'):
			b, err := hex.DecodeString(fmt.Sprintf("%02s", word))
			if err != nil {
				return nil, false, nil // as tmux: nothing is typed
			}
			all = append(all, string(b))
		case c.has('l'):
			all = append(all, word)
		case isKey(word):
			all = append(all, word)
		default:
			for _, r := range word {
				all = append(all, character(r))
			}
		}
	}
	return all, c.has('H') || c.has('l'), nil
}

func isKey(word string) bool {
	_, err := keys.Encode(nil, []string{word}, keys.Modes{})
	return err == nil
}

// character is a character as the name of a key.
func character(r rune) string {
	if r == ' ' {
		return "Space"
	}
	return string(r)
}
