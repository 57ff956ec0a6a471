package main

import (
	"gascity.dev/gc/cmd/gc/internal/cli"
	"github.com/spf13/cobra"
)

func newSessionCmd(a *app) *cobra.Command {
	s := sessionScope(a)
	cmd := a.Group("session", "Manage sessions of any program, without a city",
		`A session is a program on its own terminal. It lives until the program exits,
whatever happens to your terminal. Its last screen, exit status and metadata stay
readable for a while after that. --host or GC_HOST selects the sessions of another
machine, reached by ssh (or the program in GC_SSH); GC_HOST_BIN is the name of gc
there.`, `
		gc session new build -- make -j4
		gc session peek build
		gc session wait build && gc session list --all`,
		[]cli.Entry{
			{Name: "new", Make: func() *cobra.Command { return newSessionNewCmd(a) }},
			{Name: "list", Make: func() *cobra.Command { return newSessionListCmd(a) }},
			{Name: "inspect", Make: func() *cobra.Command { return newSessionInspectCmd(a, s) }},
			{Name: "attach", Make: func() *cobra.Command { return newAttachCmd(a, s) }},
			{Name: "peek", Make: func() *cobra.Command { return newPeekCmd(a, s) }},
			{Name: "nudge", Make: func() *cobra.Command { return newNudgeCmd(a, s) }},
			{Name: "queue", Make: func() *cobra.Command { return newSessionQueueCmd(a, s) }},
			{Name: "keys", Make: func() *cobra.Command { return newKeysCmd(a, s) }},
			{Name: "paste", Make: func() *cobra.Command { return newSessionPasteCmd(a, s) }},
			{Name: "interrupt", Make: func() *cobra.Command { return newInterruptCmd(s) }},
			{Name: "wait", Make: func() *cobra.Command { return newWaitCmd(a, s) }},
			{Name: "pending", Make: func() *cobra.Command { return newPendingCmd(a, s) }},
			{Name: "respond", Make: func() *cobra.Command { return newRespondCmd(a, s) }},
			{Name: "seen", Make: func() *cobra.Command { return newSeenCmd(s) }},
			{Name: "rename", Make: func() *cobra.Command { return newSessionRenameCmd(s) }},
			{Name: "resize", Make: func() *cobra.Command { return newSessionResizeCmd(s) }},
			{Name: "clear", Make: func() *cobra.Command { return newSessionClearCmd(s) }},
			{Name: "meta", Make: func() *cobra.Command { return newSessionMetaCmd(a, s) }},
			{Name: "record", Make: func() *cobra.Command { return newSessionRecordCmd(a, s) }},
			{Name: "copy-to", Make: func() *cobra.Command { return newSessionCopyCmd(s) }},
			{Name: "kill", Make: func() *cobra.Command { return newSessionKillCmd(s) }},
		})
	a.mux.AddFlag(cmd)
	return cmd
}
