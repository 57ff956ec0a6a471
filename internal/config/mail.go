package config

// When an agent gets the notice of new mail: the key mail of [workspace], [agent_defaults]
// and agents.
const (
	MailNow   = "now"   // at once, even while it works
	MailIdle  = "idle"  // once it is idle; the default
	MailNever = "never" // it asks itself
)

var mailModes = []string{MailNow, MailIdle, MailNever}
