package status

import (
	"encoding/base64"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of the Program Status Protocol, revision 0.3 (2026-10-07).
const (
	maxReport  = 4096 // bytes from OSC to ST
	frameBytes = len("\x1b]7501;") + 2
	maxKey     = 16
	maxSegment = 32 // of app, too
	maxID      = 128
	maxDepth   = 8
	maxMsg     = 2048 // decoded
	maxTitle   = 192
	maxRecords = 256
)

// record is the last report of a program under one id.
type record struct {
	ID       string    `json:"id,omitempty"`
	State    string    `json:"state"`
	Kind     string    `json:"kind,omitempty"`
	Progress *int      `json:"progress,omitempty"` // per cent; nil: not reported
	App      string    `json:"app,omitempty"`
	Title    string    `json:"title,omitempty"`
	Msg      string    `json:"msg,omitempty"`
	Since    time.Time `json:"since"`          // of State and Kind
	Held     bool      `json:"held,omitempty"` // it was working before it became idle
	News     bool      `json:"news,omitempty"` // it was done before it became idle
	Group    int       `json:"group,omitempty"`

	nonce string // proves who reported it; not saved
}

const stateClear = "clear"

var (
	reportStates = []string{Idle, Working, Done, Blocked, Error, stateClear}
	reportKinds  = []string{Permission, Question, Auth}
	strictKeys   = []string{"id", "title", "msg"} // a malformed one discards the report
)

// errReport: the report must be discarded.
var errReport = errors.New("not a status report")

// parseReport parses what follows "7501;": key=value pairs separated by colons.
// A malformed pair is skipped, an unknown key ignored; the last duplicate wins.
// An exceeded limit discards the whole report, and so does an invalid id or
// text: the rest would be about another record, or mean something else.
func parseReport(text string) (record, error) {
	if len(text)+frameBytes > maxReport {
		return record{}, errReport
	}
	var r record
	for pair := range strings.SplitSeq(text, ":") {
		key, value, ok := strings.Cut(pair, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if len(key) > maxKey {
			return r, errReport
		}
		valid := value == "" || consistsOf(value, isValue)
		if !valid && ok && slices.Contains(strictKeys, key) {
			return r, errReport
		}
		if !valid || !ok || !consistsOf(key, isLower) {
			continue
		}
		if err := r.set(key, value); err != nil {
			return r, err
		}
	}
	if !slices.Contains(reportStates, r.State) {
		return r, errReport
	}
	if r.State != Blocked {
		r.Kind = ""
	}
	if r.State != Blocked && r.State != Working {
		r.Progress = nil
	}
	return r, nil
}

// set applies one pair.
func (r *record) set(key, value string) (err error) {
	switch key {
	case "state":
		r.State = value
	case "id":
		r.ID, err = value, checkID(value)
	case "kind":
		if r.Kind = ""; slices.Contains(reportKinds, value) {
			r.Kind = value
		}
	case "progress":
		n, nerr := strconv.Atoi(value)
		if r.Progress = nil; nerr == nil && n <= 100 && consistsOf(value, isDigit) {
			r.Progress = &n
		}
	case "app":
		if len(value) > maxSegment {
			return errReport
		}
		if r.App = ""; consistsOf(value, isName) {
			r.App = value
		}
	case "title":
		r.Title, err = decodeText(value, maxTitle)
	case "nonce": // an extension of ours
		r.nonce = value
	case "msg":
		r.Msg, err = decodeText(value, maxMsg)
	}
	return err
}

// checkID rejects anything but a path of names.
func checkID(id string) error {
	segments := strings.Split(id, "/")
	if len(id) > maxID || len(segments) > maxDepth {
		return errReport
	}
	for _, s := range segments {
		if len(s) > maxSegment || !consistsOf(s, isName) {
			return errReport
		}
	}
	return nil
}

// decodeText decodes base64 of one line of UTF-8, with or without padding.
func decodeText(value string, limit int) (string, error) {
	if len(value) > base64.StdEncoding.EncodedLen(limit) {
		return "", errReport
	}
	encoding := base64.StdEncoding
	if !strings.HasSuffix(value, "=") {
		encoding = base64.RawStdEncoding
	}
	b, err := encoding.Strict().DecodeString(value)
	if err != nil || len(b) > limit || !utf8.Valid(b) {
		return "", errReport
	}
	if slices.ContainsFunc([]rune(string(b)), unicode.IsControl) {
		return "", errReport
	}
	return visible(string(b)), nil
}

// visible removes invisible characters that can reorder a line: format
// characters (Unicode Cf) such as U+202E.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

func consistsOf(s string, ok func(c byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return s != ""
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isName(c byte) bool {
	return isLower(c) || c >= 'A' && c <= 'Z' || isDigit(c) || strings.IndexByte("_.+-", c) >= 0
}

func isValue(c byte) bool { return isName(c) || strings.IndexByte(",/=", c) >= 0 }
