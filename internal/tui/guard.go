package tui

import (
	"fmt"
	"runtime/debug"

	tea "charm.land/bubbletea/v2"
)

// panicMsg is a panic that is reported once the terminal is restored.
type panicMsg struct{ text string }

// guarded returns a command whose panic is a message.
func guarded(cmd tea.Cmd) tea.Cmd {
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				msg = panicMsg{fmt.Sprintf("panic: %v\n\n%s", r, debug.Stack())}
			}
		}()
		return cmd()
	}
}
