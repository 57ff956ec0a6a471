// Package notices tells the person at an attached terminal what happens in the rest of the
// city: OSC 9 or 99 and the bell when an agent needs somebody, and OSC 7501 child records of
// what the agents do.
//
// It reports each occasion once, and none that began before the attach. It passes no control
// sequence of an agent on. It is pure; gc attach reads the city and writes.
package notices

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	"gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/runtime"
)

// kinds are the occasions that ring the bell.
var kinds = []string{api.AttentionQuestion, api.AttentionLogin, api.AttentionLimited, api.AttentionStuck, api.AttentionDone}

// sameQuestion: a question that begins this much later was asked again, after an answer; less
// is the inaccuracy of another machine's clock.
const sameQuestion = time.Second

// maxText is how many bytes of a text are shown.
const maxText = 200

// Terminal is what one attached terminal was told.
type Terminal struct {
	Mode string // as notify.terminal in city.toml

	told    map[string]time.Time // IDs, and since when; nil before the first look
	records map[string]string    // the state that was reported of each agent
}

// Attention returns the sequences for what is new among what needs somebody.
func (t *Terminal) Attention(items []api.Attention) []byte {
	first := t.told == nil
	if first {
		t.told = map[string]time.Time{}
	}
	var out bytes.Buffer
	for _, it := range items {
		since, told := t.told[it.ID]
		again := it.Request != "" && it.Since.Sub(since) > sameQuestion
		if told && !again || !slices.Contains(kinds, it.Kind) {
			continue
		}
		if t.told[it.ID] = it.Since; first || t.Mode == config.TerminalOff {
			continue
		}
		text := clip(display.Line(fmt.Sprintf("%s: %s: %s", it.Agent, it.Kind, it.Text)))
		switch t.Mode {
		case config.TerminalOSC99:
			fmt.Fprintf(&out, "\x1b]99;;%s\x1b\\", text)
		case config.TerminalBell:
		default:
			fmt.Fprintf(&out, "\x1b]9;%s\x1b\\", text)
		}
		out.WriteByte('\a')
	}
	return out.Bytes()
}

// name matches one segment of an id of OSC 7501. Other commands need not compile it.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.+-]{1,32}$`) })

// Status returns the child records of what has changed. Agents whose names the protocol does
// not allow are left out.
func (t *Terminal) Status(agents []api.AgentStatus) []byte {
	if t.Mode == config.TerminalOff {
		return nil
	}
	now := map[string]string{}
	var out bytes.Buffer
	for i := range agents {
		ag := &agents[i]
		id, state := "gc/"+ag.Name, stateOf(ag)
		if len(id) > 128 || slices.ContainsFunc(strings.Split(id, "/"), func(s string) bool { return !name().MatchString(s) }) || state == "" {
			continue
		}
		if now[id] = state; t.records[id] != state {
			title := base64.StdEncoding.EncodeToString([]byte(ag.Name))
			fmt.Fprintf(&out, "\x1b]7501;state=%s:id=%s:app=gc:title=%s\x1b\\", state, id, title)
		}
	}
	for id := range t.records {
		if now[id] == "" {
			fmt.Fprintf(&out, "\x1b]7501;state=clear:id=%s\x1b\\", id)
		}
	}
	t.records = now
	return out.Bytes()
}

// Clear returns the sequences that take back all records.
func (t *Terminal) Clear() []byte { return t.Status(nil) }

// stateOf is the state of an agent in the protocol's words, with the kind of a block; "" if
// there is nothing to say.
func stateOf(ag *api.AgentStatus) string {
	switch ag.State {
	case api.StateCrashed, api.StateQuarantined:
		return "error"
	case api.StateRunning, api.StateDraining:
	default:
		return ""
	}
	switch ag.Activity {
	case runtime.ActivityIdle, runtime.ActivityWorking, runtime.ActivityDone, runtime.ActivityError:
		return ag.Activity
	case runtime.ActivityStuck:
		return "error"
	case runtime.ActivityBlocked:
		kind := ""
		if ag.ActivityInfo != nil {
			kind = ag.ActivityInfo.Kind
		}
		switch kind {
		case runtime.BlockedPermission, runtime.BlockedAuth:
			return "blocked:kind=" + kind
		}
		return "blocked:kind=question"
	}
	return ""
}

// clip is the beginning of a text, in whole characters.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
