package main

import (
	"github.com/spf13/cobra"
)

func newSessionCmd(a *app) *cobra.Command {
	s := sessionScope(a)
	cmd := a.newGroup("session", "Manage sessions of any program, without a city",
		`A session is a program on its own terminal. It lives until the program exits,
whatever happens to your terminal. Its last screen, exit status and metadata stay
readable for a while after that. --host or GC_HOST selects the sessions of another
machine, reached by ssh (or the program in GC_SSH); GC_HOST_BIN is the name of gc
there.`, `
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
			{"queue", "", func() *cobra.Command { return newSessionQueueCmd(a, s) }},
			{"keys", "", func() *cobra.Command { return newKeysCmd(a, s) }},
			{"paste", "", func() *cobra.Command { return newSessionPasteCmd(a, s) }},
			{"interrupt", "", func() *cobra.Command { return newInterruptCmd(s) }},
			{"wait", "", func() *cobra.Command { return newWaitCmd(a, s) }},
			{"pending", "", func() *cobra.Command { return newPendingCmd(a, s) }},
			{"respond", "", func() *cobra.Command { return newRespondCmd(a, s) }},
			{"seen", "", func() *cobra.Command { return newSeenCmd(s) }},
			{"rename", "", func() *cobra.Command { return newSessionRenameCmd(s) }},
			{"resize", "", func() *cobra.Command { return newSessionResizeCmd(s) }},
			{"clear", "", func() *cobra.Command { return newSessionClearCmd(s) }},
			{"meta", "", func() *cobra.Command { return newSessionMetaCmd(a, s) }},
			{"record", "", func() *cobra.Command { return newSessionRecordCmd(a, s) }},
			{"copy-to", "", func() *cobra.Command { return newSessionCopyCmd(s) }},
			{"kill", "", func() *cobra.Command { return newSessionKillCmd(s) }},
		})
	addHost(a, cmd)
	return cmd
}
