package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"gascity.dev/gc/runtime"
	"gascity.dev/gc/runtime/driver"
)

// Operations of the protocol.
const (
	opProtocol     = "protocol"
	opStart        = "start"
	opStop         = "stop"
	opInterrupt    = "interrupt"
	opIsRunning    = "is-running"
	opAttach       = "attach"
	opProcessAlive = "process-alive"
	opNudge        = "nudge"
	opSetMeta      = "set-meta"
	opGetMeta      = "get-meta"
	opRemoveMeta   = "remove-meta"
	opPeek         = "peek"
	opListRunning  = "list-running"
	opActivity     = "get-last-activity"
	opIsAttached   = "is-attached"
	opSendKeys     = "send-keys"
	opClear        = "clear-scrollback"
	opCopyTo       = "copy-to"
	opRunLive      = "run-live"
	opExec         = "exec"
	opProvision    = "provision"
	opWaitIdle     = "wait-idle"
	opLastExit     = "last-exit"
	opRelaunch     = "relaunch"
)

// Capabilities of a handshake that have a meaning here; others are ignored.
const (
	capAttachment = "report-attachment" // is-attached knows
	capActivity   = "report-activity"   // get-last-activity knows
	capExec       = "proc.exec"         // exec runs commands; status 2 is the command's own
	capProvision  = "proc.provision"    // provision creates the box
	capAttach     = "tty.attach"        // attach connects a terminal
	capStartNudge = "start-nudge"       // start types the nudge itself

	capExactPeek  = "exact-peek"  // peek comes from a terminal emulator, cell by cell
	capKeyModes   = "key-modes"   // keys are encoded in the modes that the program set
	capLastScreen = "last-screen" // peek answers after the session's exit
	capLastWords  = "last-words"  // and includes everything that was written before
	capExactMeta  = "exact-meta"  // get-meta prints exactly the value
	capPeekScreen = "peek-screen" // peek takes "screen": the live screen alone
	capLastExit   = "last-exit"   // last-exit reports how a session ended
	capRelaunch   = "relaunch"    // relaunch replaces the program by another command
)

// handshake is what a script declares.
type handshake struct {
	spoken       bool     // false: an old script without a handshake
	Version      int      `json:"version"`
	Capabilities []string `json:"capabilities"`
}

func (h *handshake) has(capability string) bool { return slices.Contains(h.Capabilities, capability) }

// handshakeLimit bounds a handshake: a script answers it without asking its backend.
const handshakeLimit = 10 * time.Second

// handshake makes the handshake once; after a failure the next caller tries again.
func (p *Provider) handshake(ctx context.Context) (*handshake, error) {
	select {
	case p.asking <- struct{}{}:
		defer func() { <-p.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.mu.Lock()
	h := p.shake
	p.mu.Unlock()
	if h != nil {
		return h, nil
	}
	r := request{op: opProtocol}
	short, cancel := context.WithTimeout(ctx, handshakeLimit)
	defer cancel()
	a, err := p.call(short, r)
	if err != nil {
		return nil, err
	}
	if a.code == exitCannotRun || a.code == exitNoCommand {
		return nil, p.failure(ctx, r, a)
	}
	h = &handshake{}
	if a.code == 0 && len(strings.TrimSpace(string(a.out))) > 0 {
		if h, err = parseHandshake(a.out); err != nil {
			return nil, p.protocolError(r, err)
		}
	}
	p.mu.Lock()
	p.shake = h
	p.mu.Unlock()
	return h, nil
}

func parseHandshake(out []byte) (*handshake, error) {
	if _, err := valid(out); err != nil {
		return nil, err
	}
	h := &handshake{spoken: true}
	if err := json.Unmarshal(out, h); err != nil {
		return nil, fmt.Errorf("it printed %s, which is not a handshake: %w", quoted(out), err)
	}
	return h, nil
}

func parseBool(out []byte) (bool, error) {
	text, err := valid(out)
	switch {
	case err != nil:
		return false, err
	case text == "true":
		return true, nil
	case text == "false":
		return false, nil
	}
	return false, fmt.Errorf("it printed %s instead of true or false", quoted(out))
}

// parseTime parses an RFC 3339 time; "" is the zero time.
func parseTime(out []byte) (time.Time, error) {
	text, err := valid(out)
	if err != nil || strings.TrimSpace(text) == "" {
		return time.Time{}, err
	}
	at, err := time.Parse(time.RFC3339, strings.TrimSpace(text))
	if err != nil {
		return time.Time{}, fmt.Errorf("it printed %s, which is not an RFC 3339 time", quoted(out))
	}
	return at, nil
}

// parseNames parses names, one a line, and returns those with the prefix that are
// valid session names.
func parseNames(out []byte, prefix string) ([]string, error) {
	text, err := valid(out)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.SplitSeq(text, "\n") {
		name := strings.TrimSuffix(line, "\r")
		if strings.HasPrefix(name, prefix) && runtime.CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// parseReceipt parses the output of a script that verifies its nudges; ok is false
// for anything else.
func parseReceipt(out []byte) (r runtime.Receipt, ok bool) {
	if json.Unmarshal(out, &r) != nil {
		return runtime.Receipt{}, false
	}
	switch r.State {
	case runtime.Submitted, runtime.Drafted, runtime.Blocked, runtime.Refused, runtime.Dead, runtime.Unverified:
		return r, true
	}
	return runtime.Receipt{}, false
}

// parseExit parses how a session ended; nil for no output.
func parseExit(out []byte) (*runtime.Exit, error) {
	text, err := valid(out)
	if err != nil || strings.TrimSpace(text) == "" {
		return nil, err
	}
	e := &runtime.Exit{}
	if err := json.Unmarshal(out, e); err != nil {
		return nil, fmt.Errorf("it printed %s, which is not an exit: %w", quoted(out), err)
	}
	return e, nil
}

// plain returns text without control functions: scripts may capture a program's raw
// bytes, which must not reach a terminal.
func plain(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == 0x1b:
			n = escapeLen(s)
		case !isControl(r):
			b.WriteRune(r)
		}
		s = s[n:]
	}
	return b.String()
}

func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// escapeLen returns the length of the control function at the start of s (ECMA-48 5.3
// and 5.4; strings such as DCS and OSC up to ST or BEL).
func escapeLen(s string) int {
	if len(s) < 2 {
		return len(s)
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				return i
			}
		}
		return len(s)
	case ']', 'P', 'X', '^', '_':
		for i := 2; i < len(s); i++ {
			switch {
			case s[i] == '\a':
				return i + 1
			case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
				return i + 2
			case s[i] == '\n':
				return i
			}
		}
		return len(s)
	}
	i := 1
	for i < len(s) && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	if i < len(s) && s[i] >= 0x30 && s[i] <= 0x7e {
		i++
	}
	return i
}

// startConfig is the standard input of start, run-live and provision. Size and ready
// prefix are our additions: a script may ignore them.
type startConfig struct {
	WorkDir      string            `json:"work_dir,omitempty"`
	Command      string            `json:"command,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	ProcessNames []string          `json:"process_names,omitempty"`
	Nudge        string            `json:"nudge,omitempty"`
	Cols         int               `json:"cols,omitempty"`
	Rows         int               `json:"rows,omitempty"`
	Ready        string            `json:"ready_prompt_prefix,omitempty"`
}

// encodeConfig encodes the start config. Text that is not UTF-8 cannot be represented
// in JSON and is an error.
func encodeConfig(name string, cfg runtime.Config, nudge bool) (string, error) {
	line, err := driver.CommandLine(name, cfg)
	if err != nil {
		return "", err
	}
	env := maps.Clone(cfg.BaseEnv)
	if env == nil {
		env = make(map[string]string, len(cfg.Env))
	}
	maps.Copy(env, cfg.Env)
	c := startConfig{
		WorkDir: cfg.WorkDir, Command: line, Env: env, ProcessNames: cfg.ProcessNames,
		Cols: cfg.Cols, Rows: cfg.Rows, Ready: cfg.ReadyPromptPrefix,
	}
	if nudge {
		c.Nudge = cfg.Nudge
	}
	for k, v := range env {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return "", fmt.Errorf("variable %q is not UTF-8", k)
		}
	}
	if !utf8.ValidString(c.Command) || !utf8.ValidString(c.WorkDir) || !utf8.ValidString(c.Nudge) || !utf8.ValidString(c.Ready) {
		return "", errors.New("command, work dir, nudge or ready prefix is not UTF-8")
	}
	b, err := json.Marshal(c)
	return string(b), err
}
