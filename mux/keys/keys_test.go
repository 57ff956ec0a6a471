package keys

import (
	"errors"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

// keyCases are what keys send, grouped by the modes in force.
var keyCases = []struct {
	name  string
	modes Modes
	keys  map[string]string
}{
	{"reset", Modes{}, map[string]string{
		"Enter": "\r", "Return": "\r", "enter": "\r", "ENTER": "\r",
		"Tab": "\t", "BTab": "\x1b[Z", "S-Tab": "\x1b[Z", "BackTab": "\x1b[Z",
		"Escape": "\x1b", "Esc": "\x1b", "Space": " ",
		"Backspace": "\x7f", "BSpace": "\x7f", "C-BSpace": "\b", "M-BSpace": "\x1b\x7f", "S-BSpace": "\x7f",
		"Delete": "\x1b[3~", "DC": "\x1b[3~", "Insert": "\x1b[2~", "IC": "\x1b[2~",
		"Home": "\x1b[H", "End": "\x1b[F",
		"PageUp": "\x1b[5~", "PgUp": "\x1b[5~", "PPage": "\x1b[5~",
		"PageDown": "\x1b[6~", "PgDn": "\x1b[6~", "NPage": "\x1b[6~",
		"Up": "\x1b[A", "Down": "\x1b[B", "Right": "\x1b[C", "Left": "\x1b[D",
		"S-Up": "\x1b[1;2A", "M-Up": "\x1b[1;3A", "M-S-Up": "\x1b[1;4A", "C-Up": "\x1b[1;5A",
		"C-S-Up": "\x1b[1;6A", "C-M-Up": "\x1b[1;7A", "C-M-S-Up": "\x1b[1;8A", "S-M-C-Up": "\x1b[1;8A",
		"C-Home": "\x1b[1;5H", "S-End": "\x1b[1;2F", "C-PageUp": "\x1b[5;5~", "S-DC": "\x1b[3;2~",
		"F1": "\x1bOP", "F2": "\x1bOQ", "F3": "\x1bOR", "F4": "\x1bOS",
		"F5": "\x1b[15~", "F6": "\x1b[17~", "F7": "\x1b[18~", "F8": "\x1b[19~",
		"F9": "\x1b[20~", "F10": "\x1b[21~", "F11": "\x1b[23~", "F12": "\x1b[24~",
		"F13": "\x1b[25~", "F14": "\x1b[26~", "F15": "\x1b[28~", "F16": "\x1b[29~",
		"F17": "\x1b[31~", "F18": "\x1b[32~", "F19": "\x1b[33~", "F20": "\x1b[34~",
		"S-F1": "\x1b[1;2P", "C-F3": "\x1b[1;5R", "M-F5": "\x1b[15;3~", "f12": "\x1b[24~",
		"KP0": "0", "KP9": "9", "KP.": ".", "KP/": "/", "KP*": "*", "KP-": "-", "KP+": "+",
		"KPEnter": "\r", "KP=": "=", "KP,": ",", "C-KP5": "\x1d", "M-KP5": "\x1b5",
		"a": "a", "A": "A", "S-a": "A", "S-1": "1", "é": "é", "S-é": "É", "世": "世", "-": "-", "+": "+", "^": "^",
		"👍🏽": "👍🏽", "👨‍👩‍👧": "👨‍👩‍👧", "🇫🇷": "🇫🇷", "e\u0301": "e\u0301",
		"C-a": "\x01", "C-A": "\x01", "c-a": "\x01", "C-z": "\x1a", "C-S-a": "\x01",
		"ctrl-c": "\x03", "Ctrl+C": "\x03", "control-c": "\x03", "^C": "\x03", "^c": "\x03", "^[": "\x1b", "^?": "\x7f", "^@": "\x00",
		"C-Space": "\x00", "C-@": "\x00", "C-2": "\x00", "C-[": "\x1b", "C-3": "\x1b", `C-\`: "\x1c",
		"C-]": "\x1d", "C-^": "\x1e", "C-_": "\x1f", "C-/": "\x1f", "C-?": "\x7f", "C-8": "\x7f",
		"C-1": "1", "C--": "-", "C-é": "é",
		"M-a": "\x1ba", "M-A": "\x1bA", "M-S-a": "\x1bA", "alt-x": "\x1bx", "Meta-x": "\x1bx",
		"M-é": "\x1bé", "M-Enter": "\x1b\r", "M-Tab": "\x1b\t", "M-Escape": "\x1b\x1b", "M-Space": "\x1b ",
		"C-M-a": "\x1b\x01", "M-^A": "\x1b\x01", "C-M-Space": "\x1b\x00", "M--": "\x1b-", "M-+": "\x1b+",
		"C-Enter": "\r", "S-Enter": "\r", "C-Tab": "\t", "M-S-Tab": "\x1b\x1b[Z",
	}},
	{"application cursor", Modes{AppCursor: true}, map[string]string{
		"Up": "\x1bOA", "Down": "\x1bOB", "Right": "\x1bOC", "Left": "\x1bOD", "Home": "\x1bOH", "End": "\x1bOF",
		"C-Up": "\x1b[1;5A", "PageUp": "\x1b[5~", "Delete": "\x1b[3~", "F1": "\x1bOP", "KP5": "5",
	}},
	{"application keypad", Modes{AppKeypad: true}, map[string]string{
		"KP0": "\x1bOp", "KP1": "\x1bOq", "KP2": "\x1bOr", "KP3": "\x1bOs", "KP4": "\x1bOt",
		"KP5": "\x1bOu", "KP6": "\x1bOv", "KP7": "\x1bOw", "KP8": "\x1bOx", "KP9": "\x1bOy",
		"KP.": "\x1bOn", "KP/": "\x1bOo", "KP*": "\x1bOj", "KP-": "\x1bOm", "KP+": "\x1bOk",
		"KPEnter": "\x1bOM", "KP=": "\x1bOX", "KP,": "\x1bOl", "M-KP5": "\x1b\x1bOu", "C-KP5": "\x1d",
		"Up": "\x1b[A", "5": "5", "Enter": "\r",
	}},
	{"new line", Modes{NewLine: true}, map[string]string{
		"Enter": "\r\n", "KPEnter": "\r\n", "C-m": "\r",
	}},
	{"backarrow", Modes{BackarrowSendsBS: true}, map[string]string{
		"Backspace": "\b", "C-Backspace": "\x7f", "M-Backspace": "\x1b\b", "C-h": "\b",
	}},
	{"modifyOtherKeys 1", Modes{ModifyOtherKeys: 1}, map[string]string{
		"a": "a", "A": "A", "C-a": "\x01", "M-a": "\x1ba", "C-Space": "\x00", "C-/": "\x1f", "S-Space": " ",
		"C-1": "\x1b[27;5;49~", "C-;": "\x1b[27;5;59~", "C-é": "\x1b[27;5;233~",
		"C-S-a": "\x1b[27;6;65~", "C-M-a": "\x1b[27;7;97~", "C-M-S-a": "\x1b[27;8;65~",
		"Enter": "\r", "C-Enter": "\x1b[27;5;13~", "S-Enter": "\x1b[27;2;13~", "M-Enter": "\x1b\r",
		"Tab": "\t", "C-Tab": "\x1b[27;5;9~", "S-Tab": "\x1b[Z", "C-S-Tab": "\x1b[27;6;9~",
		"Escape": "\x1b", "M-Escape": "\x1b\x1b", "C-Escape": "\x1b[27;5;27~",
		"Backspace": "\x7f", "C-Backspace": "\b", "M-Backspace": "\x1b\x7f", "C-Up": "\x1b[1;5A",
	}},
	{"modifyOtherKeys 2", Modes{ModifyOtherKeys: 2}, map[string]string{
		"a": "a", "A": "A", "!": "!", "C-a": "\x1b[27;5;97~", "C-i": "\x1b[27;5;105~", "C-[": "\x1b[27;5;91~",
		"M-a": "\x1b[27;3;97~", "M-A": "\x1b[27;4;65~", "C-S-a": "\x1b[27;6;65~", "C-Space": "\x1b[27;5;32~",
		"S-Space": "\x1b[27;2;32~", "Enter": "\r", "M-Enter": "\x1b[27;3;13~", "S-Tab": "\x1b[Z",
		"M-Tab": "\x1b[27;3;9~", "M-Escape": "\x1b[27;3;27~", "C-Backspace": "\b", "S-Backspace": "\x1b[27;2;127~",
		"M-Backspace": "\x1b[27;3;127~", "S-Up": "\x1b[1;2A", "F13": "\x1b[25~", "C-KP5": "\x1b[27;5;53~",
		"M-e\u0301": "\x1be\u0301",
	}},
	{"kitty disambiguate", Modes{KittyFlags: 1, AppCursor: true, AppKeypad: true, ModifyOtherKeys: 2}, map[string]string{
		"Escape": "\x1b[27u", "M-Escape": "\x1b[27;3u", "Enter": "\r", "Tab": "\t", "Backspace": "\x7f",
		"S-Enter": "\x1b[13;2u", "C-Enter": "\x1b[13;5u", "M-Enter": "\x1b[13;3u", "S-Tab": "\x1b[9;2u",
		"BTab": "\x1b[9;2u", "C-Tab": "\x1b[9;5u", "C-Backspace": "\x1b[127;5u",
		"a": "a", "A": "A", "S-a": "A", "Space": " ", "S-Space": " ", "世": "世",
		"C-c": "\x1b[99;5u", "C-C": "\x1b[99;5u", "^C": "\x1b[99;5u", "C-S-c": "\x1b[99;6u", "M-a": "\x1b[97;3u",
		"M-A": "\x1b[97;4u", "C-M-a": "\x1b[97;7u", "C-Space": "\x1b[32;5u", "C-[": "\x1b[91;5u", "C-1": "\x1b[49;5u",
		"C-é": "\x1b[233;5u", "M-!": "\x1b[33;3u",
		"Up": "\x1b[A", "C-Up": "\x1b[1;5A", "Home": "\x1b[H", "Delete": "\x1b[3~", "C-PageDown": "\x1b[6;5~",
		"F1": "\x1b[P", "F3": "\x1b[13~", "S-F3": "\x1b[13;2~", "F5": "\x1b[15~", "F13": "\x1b[57376u", "C-F20": "\x1b[57383;5u",
		"KP5": "5", "KPEnter": "\x1b[57414u", "C-KP5": "\x1b[57404;5u", "KP+": "+",
		"👍🏽": "👍🏽", "M-👍🏽": "\x1b👍🏽",
	}},
	{"kitty without disambiguation", Modes{KittyFlags: 2 | 4 | 16}, map[string]string{
		"Escape": "\x1b", "C-c": "\x03", "Up": "\x1b[A", "M-a": "\x1ba",
	}},
	{"kitty all keys", Modes{KittyFlags: 1 | 8}, map[string]string{
		"a": "\x1b[97u", "A": "\x1b[97;2u", "Space": "\x1b[32u", "Enter": "\x1b[13u", "Tab": "\x1b[9u",
		"Backspace": "\x1b[127u", "Escape": "\x1b[27u", "C-c": "\x1b[99;5u", "Up": "\x1b[A", "KP5": "\x1b[57404u",
		"👍🏽": "👍🏽",
	}},
	{"kitty everything", Modes{KittyFlags: 31}, map[string]string{
		"a": "\x1b[97;;97u", "A": "\x1b[97:65;2;65u", "C-S-a": "\x1b[97:65;6u", "!": "\x1b[33;;33u",
		"Enter": "\x1b[13u", "KP5": "\x1b[57404;;53u", "世": "\x1b[19990;;19990u",
		"e\u0301": "\x1b[0;;101:769u",
	}},
}

func TestEncodeKeys(t *testing.T) {
	for _, c := range keyCases {
		t.Run(c.name, func(t *testing.T) {
			for key, want := range c.keys {
				got, err := Encode(nil, []string{key}, c.modes)
				if err != nil {
					t.Errorf("%s: %v", key, err)
				} else if string(got) != want {
					t.Errorf("%s: sent %q, want %q", key, got, want)
				}
			}
		})
	}
}

func TestEncodeKeysInOrder(t *testing.T) {
	got, err := Encode([]byte("x"), []string{"a", "Enter", "C-c"}, Modes{})
	if err != nil || string(got) != "xa\r\x03" {
		t.Errorf("sent %q, %v", got, err)
	}
}

func TestUnknownKeys(t *testing.T) {
	for key, nearest := range map[string]string{
		"Entre": "Enter", "Pgup ": "PgUp", "C-Dwon": "C-Down", "hello": "Del", "F21": "F1", "F0": "F1",
		"": "", "C-": "", "S-M-escap": "S-M-Escape", "\x03": "", "\r": "", "ab": "", "^é": "", "KP": "",
		"a\u0301b": "", "\xff": "", "☃☃": "", strings.Repeat("x", 5000): "",
	} {
		got, err := Encode([]byte("x"), []string{"a", key}, Modes{})
		var ke *Error
		if !errors.Is(err, ErrUnknown) || !errors.As(err, &ke) || ke.Key != key {
			t.Errorf("%q: error %v", key, err)
			continue
		}
		if string(got) != "x" {
			t.Errorf("%q: %q was encoded", key, got)
		}
		if nearest != "" && ke.Nearest != nearest {
			t.Errorf("%q: nearest %q, want %q", key, ke.Nearest, nearest)
		}
		if _, err := Encode(nil, []string{ke.Nearest}, Modes{}); err != nil {
			t.Errorf("%q: the nearest name %q is unknown itself", key, ke.Nearest)
		}
	}
}

func TestKeyNames(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range Names() {
		if seen[n] {
			t.Errorf("%s is listed twice", n)
		}
		seen[n] = true
		if _, err := Encode(nil, []string{n}, Modes{}); err != nil {
			t.Error(err)
		}
	}
	for _, n := range []string{"Enter", "BTab", "F20", "KPEnter", "C-c"} {
		if !seen[n] {
			t.Errorf("%s is not listed", n)
		}
	}
}

// TestKeyTable: names and codes are unique, and so is every legacy sequence of
// a press.
func TestKeyTable(t *testing.T) {
	names, codes, sent := map[string]bool{}, map[Code]bool{}, map[string]string{}
	for _, d := range table {
		if codes[d.code] {
			t.Errorf("%s: code used twice", d.names[0])
		}
		codes[d.code] = true
		for _, n := range d.names {
			if l := strings.ToLower(n); names[l] {
				t.Errorf("%s: name used twice", n)
			} else {
				names[l] = true
			}
		}
		got, _ := Encode(nil, d.names[:1], Modes{AppKeypad: true})
		if other, ok := sent[string(got)]; ok {
			t.Errorf("%s sends what %s sends", d.names[0], other)
		}
		sent[string(got)] = d.names[0]
	}
}

// TestKeyGraphemes: a character is what Unicode defines as one.
func TestKeyGraphemes(t *testing.T) {
	pieces := []string{"a", "é", "e", "\u0301", "\u200d", "👍", "🏽", "❤", "\ufe0f", "🇫", "🇷", "한", "ᄒ", "ᅡ", "世", "☃", "\u0300"}
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 4).Draw(t, "pieces"), "")
		_, rest, _, _ := uniseg.FirstGraphemeClusterInString(s, -1)
		if one := isGrapheme(s); one && rest != "" && !strings.Contains(s, "\u200d") && !strings.ContainsAny(s, "한하") {
			t.Fatalf("%q (%+q) is more than one character", s, s)
		} else if r := []rune(s)[0]; !one && rest == "" && !extendsCluster(r) {
			t.Fatalf("%q (%+q) is one character", s, s)
		}
	})
}

// TestEncodeKeysAnything: no name, modes or prefix makes the encoder panic, and
// every accepted key sends something.
func TestEncodeKeysAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := Modes{
			AppCursor: rapid.Bool().Draw(t, "cursor"), AppKeypad: rapid.Bool().Draw(t, "keypad"),
			ModifyOtherKeys: rapid.IntRange(-1, 4).Draw(t, "other"), KittyFlags: rapid.IntRange(0, 40).Draw(t, "kitty"),
		}
		mods := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"C-", "M-", "S-", "^", "ctrl+"}), 0, 4).Draw(t, "mods"), "")
		name := rapid.OneOf(rapid.String(), rapid.SampledFrom(Names())).Draw(t, "name")
		got, err := Encode(nil, []string{mods + name}, m)
		if err == nil && len(got) == 0 {
			t.Fatal("a known key sends nothing")
		}
	})
}
