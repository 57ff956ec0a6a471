package main

import (
	"github.com/spf13/cobra"
)

func newSessionCmd(a *app) *cobra.Command {
	s := sessionScope(a)
	return group("session", "Sessions of any program, no city needed",
		`A session is one program on a terminal of its own. It lives until the program
ends, whatever happens to your terminal. Its last screen, exit status and
metadata stay readable for a while after that.`, `
		gc session new build -- make -j4
		gc session peek build
		gc session wait build && gc session list --all`,
		newSessionNewCmd(a), newSessionListCmd(a), newSessionInspectCmd(a, s),
		newAttachCmd(a, s), newPeekCmd(a, s), newNudgeCmd(a, s), newKeysCmd(a, s), newSessionPasteCmd(a, s),
		newInterruptCmd(a, s), newWaitCmd(a, s), newSessionResizeCmd(a, s), newSessionClearCmd(a, s),
		newSessionMetaCmd(a, s), newSessionKillCmd(a, s))
}
