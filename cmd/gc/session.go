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
			{name: "new", make: func() *cobra.Command { return newSessionNewCmd(a) }},
			{name: "list", make: func() *cobra.Command { return newSessionListCmd(a) }},
			{name: "inspect", make: func() *cobra.Command { return newSessionInspectCmd(a, s) }},
			{name: "attach", make: func() *cobra.Command { return newAttachCmd(a, s) }},
			{name: "peek", make: func() *cobra.Command { return newPeekCmd(a, s) }},
			{name: "nudge", make: func() *cobra.Command { return newNudgeCmd(a, s) }},
			{name: "queue", make: func() *cobra.Command { return newSessionQueueCmd(a, s) }},
			{name: "keys", make: func() *cobra.Command { return newKeysCmd(a, s) }},
			{name: "paste", make: func() *cobra.Command { return newSessionPasteCmd(a, s) }},
			{name: "interrupt", make: func() *cobra.Command { return newInterruptCmd(s) }},
			{name: "wait", make: func() *cobra.Command { return newWaitCmd(a, s) }},
			{name: "pending", make: func() *cobra.Command { return newPendingCmd(a, s) }},
			{name: "respond", make: func() *cobra.Command { return newRespondCmd(a, s) }},
			{name: "seen", make: func() *cobra.Command { return newSeenCmd(s) }},
			{name: "rename", make: func() *cobra.Command { return newSessionRenameCmd(s) }},
			{name: "resize", make: func() *cobra.Command { return newSessionResizeCmd(s) }},
			{name: "clear", make: func() *cobra.Command { return newSessionClearCmd(s) }},
			{name: "meta", make: func() *cobra.Command { return newSessionMetaCmd(a, s) }},
			{name: "record", make: func() *cobra.Command { return newSessionRecordCmd(a, s) }},
			{name: "copy-to", make: func() *cobra.Command { return newSessionCopyCmd(s) }},
			{name: "kill", make: func() *cobra.Command { return newSessionKillCmd(s) }},
		})
	addHost(a, cmd)
	return cmd
}
