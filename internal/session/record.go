// Package session keeps what a city knows about its sessions beyond their lives:
// records, events, suspensions, waits and queued nudges.
//
// Its invariant: acknowledged changes are on disk, and nothing is dropped
// silently. Only the controller opens the database; commands go through the
// controller.
package session

import (
	"time"

	"gascity.dev/gc/runtime"
)

// Record is what is known about one agent's sessions.
type Record struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // the session's name

	Host string `json:"host,omitempty"` // the provider that the newest incarnation was started with

	// The newest incarnation, written before its start.
	ID      string    `json:"id,omitempty"`
	Epoch   int64     `json:"epoch"`
	Token   string    `json:"token,omitempty"`
	Started time.Time `json:"started,omitzero"`

	TokenBefore string `json:"tokenBefore,omitempty"` // of the incarnation before: its messages may still be under way

	StartedWith string `json:"startedWith,omitempty"` // core hash of the newest incarnation

	// The agent's own conversation, which a later start may resume.
	Conversation string `json:"conversation,omitempty"`
	ConversesBy  string `json:"conversesBy,omitempty"` // the provider of the conversation
	Conversed    bool   `json:"conversed,omitempty"`   // an incarnation with it became ready
	Resumed      bool   `json:"resumed,omitempty"`     // the newest incarnation resumed it

	// Continues is the first epoch of the conversation over ACP that the newest
	// incarnation resumed: messages for those since then are for it, too. 0: none.
	Continues int64 `json:"continues,omitempty"`

	Served   bool `json:"served,omitempty"`   // the newest incarnation was seen to take messages
	Finished bool `json:"finished,omitempty"` // it ended with 0 after its prompt; see Finish
	Turns    int  `json:"turns,omitempty"`    // ended turns of the newest incarnation, over ACP

	// NeedsLogin: the agent refused the newest start because it requires a login.
	// Not started again until a person asks or the config changes.
	NeedsLogin bool `json:"needsLogin,omitempty"`

	LastExit   *runtime.Exit `json:"lastExit,omitempty"`
	LastScreen string        `json:"lastScreen,omitempty"` // of the last crash
	LastError  string        `json:"lastError,omitempty"`  // of the last start that failed
	LastHint   string        `json:"lastHint,omitempty"`

	Restarts []time.Time `json:"restarts,omitempty"` // restarts after deaths, within the window
	Total    int         `json:"total"`              // restarts after deaths since the agent was cleared
	Tries    int         `json:"tries,omitempty"`    // quarantined: tries so far
	RetryAt  time.Time   `json:"retryAt,omitzero"`   // quarantined or put off: no start before this
	Hold     int64       `json:"hold,omitempty"`     // quarantined: no wait until RetryAt is longer (nanoseconds); 0: maxBackOff
	PutOff   int         `json:"putOff,omitempty"`   // consecutive starts that the backend failed
	Unsure   bool        `json:"unsure,omitempty"`   // the backend failed the newest start; a session may exist
	Boot     string      `json:"boot,omitempty"`     // of the machine that the newest incarnation was started on; "" if unknown
	Crashed  bool        `json:"crashed,omitempty"`  // the last incarnation died unexpectedly
	Open     bool        `json:"open,omitempty"`     // started or starting, and no end seen
	CoreHash string      `json:"coreHash,omitempty"` // the config that Tries and Restarts count for
	Digest   string      `json:"digest,omitempty"`   // the same for the whole config

	Stopped     bool `json:"stopped,omitempty"`   // a person stopped it
	Suspended   bool `json:"suspended,omitempty"` // a person suspended it
	IdleStopped bool `json:"asleep,omitempty"`    // stopped because it was idle
	Drained     bool `json:"drained,omitempty"`   // asked to end by itself and to stay down

	// Ending is why a stop began whose outcome is not known yet, and EndingAt when: the
	// controller or the way to the backend may be lost before it is.
	Ending   string    `json:"ending,omitempty"`
	EndingAt time.Time `json:"endingAt,omitzero"`

	Job Job `json:"job,omitzero"` // of a one_shot
}

// Job is the progress of a one_shot.
type Job struct {
	Run  string `json:"run,omitempty"`  // the gc start that ran it
	Hash string `json:"hash,omitempty"` // the core hash it ran with
	Done bool   `json:"done,omitempty"`
	Code int    `json:"code"`
}

// CutShort takes back a start that made no session.
func (r *Record) CutShort() {
	r.Open, r.Unsure = false, false
	if !r.Job.Done {
		r.Job = Job{}
	}
}

// Quarantined reports whether the agent used up its restart budget.
func (r *Record) Quarantined() bool { return r.Tries > 0 }

// Budget bounds restarts.
type Budget struct {
	Max    int           // 0 = no limit
	Window time.Duration // within this
	// Prompts: a start gives the agent its prompt again, which is a turn that costs money.
	// Then Max bounds the tries of a quarantined agent, too.
	Prompts bool
}

// The back-off between tries of a quarantined agent.
const (
	firstBackOff = time.Second
	maxBackOff   = time.Minute
)

// Died records an unexpected death and decides whether the agent may restart at
// once, and otherwise when. Times in the future (the clock was set back) count
// as now.
func (r *Record) Died(now time.Time, b Budget) {
	r.Crashed, r.PutOff, r.Unsure = true, 0, false
	kept := r.Restarts[:0]
	for _, t := range r.Restarts {
		if t.After(now) {
			t = now
		}
		if now.Sub(t) < b.Window {
			kept = append(kept, t)
		}
	}
	r.Restarts = kept
	if b.Max <= 0 || len(r.Restarts) < b.Max {
		r.Tries, r.RetryAt, r.Hold = 0, time.Time{}, 0
		return
	}
	r.Tries++
	r.RetryAt, r.Hold = now.Add(backOff(r.Tries)), 0
	if free := r.Restarts[len(r.Restarts)-b.Max].Add(b.Window); b.Prompts && free.After(r.RetryAt) {
		r.RetryAt, r.Hold = free, int64(b.Window)
	}
	if over := len(r.Restarts) - b.Max; over > 0 { // Max of them are enough
		r.Restarts = append(r.Restarts[:0], r.Restarts[over:]...)
	}
}

// Disrupted records that the backend ended the agent, as an eviction does. The agent may
// restart at once, which does not count against the restart budget.
func (r *Record) Disrupted() {
	r.Crashed, r.PutOff, r.Unsure = false, 0, false
	r.RetryAt = time.Time{}
}

// BackendFailed records that the backend failed a start, or a query after one.
// It is retried later, and does not count against the restart budget.
func (r *Record) BackendFailed(now time.Time) {
	r.PutOff++
	r.Unsure = true
	r.RetryAt = now.Add(backOff(r.PutOff))
}

// BackendReturned allows a start that was put off at once. If that fails too, the back-off
// grows from its beginning.
func (r *Record) BackendReturned(now time.Time) {
	if r.PutOff > 0 {
		r.PutOff, r.RetryAt = 1, now
	}
}

// backOff is 1 s for the first try, doubling to 1 min.
func backOff(try int) time.Duration {
	d := firstBackOff
	for range try - 1 {
		if d *= 2; d >= maxBackOff {
			return maxBackOff
		}
	}
	return d
}

// MayStart reports whether the back-off is over, and otherwise when it will be.
// A wait longer than any back-off means that the clock was set back: no wait.
func (r *Record) MayStart(now time.Time) (ok bool, at time.Time) {
	wait := r.RetryAt.Sub(now)
	if r.RetryAt.IsZero() || wait <= 0 || wait > max(maxBackOff, time.Duration(r.Hold)) {
		return true, time.Time{}
	}
	return false, r.RetryAt
}

// Restarted records a restart that counts against the budget.
func (r *Record) Restarted(now time.Time) {
	r.Restarts = append(r.Restarts, now)
	r.Total++
	r.Crashed = false
}

// Finish records that a program ended with 0 after its prompt and never took
// another message. It is not restarted automatically: that would repeat its
// work, which may cost money.
func (r *Record) Finish(hint string) {
	r.Finished, r.Crashed = true, false
	r.LastError, r.LastHint = finishedText, hint
}

const finishedText = "ended with exit status 0 after its prompt and never waited for another message"

// Clear forgets failures, as a restart by a person or a config change does.
func (r *Record) Clear() {
	r.Restarts, r.Tries, r.RetryAt, r.Hold, r.Total, r.PutOff = nil, 0, time.Time{}, 0, 0, 0
	r.LastError, r.LastHint, r.LastScreen = "", "", ""
	r.Job, r.Crashed, r.Finished, r.NeedsLogin = Job{}, false, false, false
}
