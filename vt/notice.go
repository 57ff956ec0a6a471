package vt

import (
	"encoding/base64"
	"strings"
)

// notice is an OSC 99 notification whose parts are still arriving.
type notice struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
}

// maxNotice bounds a notification's title and its body, in bytes each.
const maxNotice = 16 << 10

// oscNotify99 is OSC 99 ; metadata ; payload (kitty, desktop notifications): a
// title and a body, in parts if d=0. Other payload types, such as icons and
// buttons, are ignored, as the specification asks of terminals without support
// for them.
func (t *Terminal) oscNotify99(text string) {
	meta, payload, ok := strings.Cut(text, ";")
	if !ok {
		return
	}
	id, kind, done, encoded := "0", "title", true, false
	for _, part := range strings.Split(meta, ":") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch key {
		case "i":
			id = noticeID(value)
		case "p":
			kind = value
		case "d":
			done = value != "0"
		case "e":
			encoded = value == "1"
		}
	}
	switch kind {
	case "?":
		t.reply("\x1b]99;i=" + id + ":p=?;o=always:p=title,body" + t.terminator())
		return
	case "title", "body":
	default:
		return
	}
	if encoded {
		b, err := base64.StdEncoding.DecodeString(payload)
		if err != nil {
			if b, err = base64.RawStdEncoding.DecodeString(payload); err != nil {
				return
			}
		}
		payload = string(b)
	}
	t.notify99(id, kind, plainText(payload), done)
}

// notify99 adds a part, and emits the event when the notification is complete.
func (t *Terminal) notify99(id, kind, text string, done bool) {
	n := notice{ID: id}
	if t.extra != nil && t.extra.notice != nil && t.extra.notice.ID == id {
		n = *t.extra.notice
	}
	part := &n.Title
	if kind == "body" {
		part = &n.Body
	}
	if len(*part)+len(text) <= maxNotice {
		*part += text
	} else {
		t.lost.Strings++
	}
	if !done {
		t.more().notice = &n
		return
	}
	if t.extra != nil {
		t.extra.notice = nil
	}
	switch {
	case n.Body == "" && n.Title == "":
	case n.Body == "": // without a body the title is the text
		t.event(Event{Kind: EventNotify, Text: n.Title})
	default:
		t.event(Event{Kind: EventNotify, Name: n.Title, Text: n.Body})
	}
}

// noticeID keeps the characters allowed in an identifier: it is sent back.
func noticeID(s string) string {
	id := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_+.", r) {
			return r
		}
		return -1
	}, s)
	if id == "" {
		return "0"
	}
	return id[:min(len(id), 256)]
}
