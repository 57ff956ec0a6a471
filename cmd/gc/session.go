package main

import (
	"github.com/spf13/cobra"
)

func newSessionCmd(a *app) *cobra.Command {
	s := sessionScope(a)
	return a.newGroup("session", "Sessions of any program, no city needed",
		`A session is one program on a terminal of its own. It lives until the program
ends, whatever happens to your terminal. Its last screen, exit status and
metadata stay readable for a while after that.`, `
		gc session new build -- make -j4
		gc session peek build
		gc session wait build && gc session list --all`,
		[]entry{
			{"new", "", func() *cobra.Command { return newSessionNewCmd(a) }},
			{"list", "", func() *cobra.Command { return newSessionListCmd(a) }},
			{"inspect", "", func() *cobra.Command { return newSessionInspectCmd(a, s) }},
			{"attach", "", func() *cobra.Command { return newAttachCmd(a, s) }},
			{"peek", "", func() *cobra.Command { return newPeekCmd(a, s) }},
			{"nudge", "", func() *cobra.Command { return newNudgeCmd(a, s) }},
			{"keys", "", func() *cobra.Command { return newKeysCmd(a, s) }},
			{"paste", "", func() *cobra.Command { return newSessionPasteCmd(a, s) }},
			{"interrupt", "", func() *cobra.Command { return newInterruptCmd(s) }},
			{"wait", "", func() *cobra.Command { return newWaitCmd(a, s) }},
			{"resize", "", func() *cobra.Command { return newSessionResizeCmd(s) }},
			{"clear", "", func() *cobra.Command { return newSessionClearCmd(s) }},
			{"meta", "", func() *cobra.Command { return newSessionMetaCmd(a, s) }},
			{"kill", "", func() *cobra.Command { return newSessionKillCmd(s) }},
		})
}
