package agent

import (
	"crypto/rand"
	"fmt"
	"strings"

	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/shell"
)

// A conversation is the state that an agent's program keeps across its own
// runs, under an id given with session_id_flag, or found by conversation_from, and
// resumed with resume_flag.

// Resumes reports whether a start of the agent by that provider may resume an earlier
// conversation. A one_shot never does: each run is new work.
func (s *Spec) Resumes(host string) bool {
	r := &s.Resolved
	return r.WakeMode == config.WakeResume && r.Lifecycle != config.OneShot &&
		(config.IsACP(host) || r.ResumeFlag != "" && (r.SessionIDFlag != "" || r.ConversationFrom != ""))
}

// NewConversation returns a new conversation id: a UUID version 4 (RFC 9562,
// 5.4), as agents require.
func NewConversation() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// converse adds an incarnation's conversation to its command.
func (s *Spec) converse(command string, inst Instance) string {
	r := &s.Resolved
	id := shell.Word(inst.Conversation)
	switch {
	case inst.Conversation == "" || command == "" || !inst.Resume && r.SessionIDFlag == "" || r.ResumeFlag == "":
		return command
	case !inst.Resume:
		return command + " " + r.SessionIDFlag + " " + id
	case r.ResumeStyle == config.ResumeSubcommand:
		program, rest, _ := strings.Cut(command, " ")
		return strings.TrimRight(program+" "+r.ResumeFlag+" "+id+" "+rest, " ")
	}
	return command + " " + r.ResumeFlag + " " + id
}
