package server

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// menuVar makes the test binary a program that asks a question with a menu: "walk"
// follows the arrow keys, "deaf" takes only Enter, "guard" ignores keys that come at once
// after its question, as Claude Code does.
const menuVar = "MUX_TEST_MENU"

func runMenu(mode string) int {
	if err := rawTerminal(0); err != nil {
		fmt.Println(err)
		return 1
	}
	options := []string{"No", "Yes", "Yes, always"}
	at := 0
	paint := func() {
		var b strings.Builder
		b.WriteString("\x1b[2J\x1b[Hsome talk\r\n──────────────\r\nrm -rf build\r\n\r\nRemove the folder?\r\n")
		for i, o := range options {
			mark := "  "
			if i == at {
				mark = "❯ "
			}
			fmt.Fprintf(&b, "%s%d. %s\r\n", mark, i+1, o)
		}
		fmt.Print(b.String())
	}
	paint()
	asked := time.Now()
	buf := make([]byte, 256)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil || n == 0 {
			return 0
		}
		switch key := string(buf[:n]); {
		case mode == "guard" && time.Since(asked) < 450*time.Millisecond:
		case key == "\r":
			fmt.Printf("\x1b[2J\x1b[Hchose %s\r\n", options[at])
		case mode == "deaf":
		case key == "\x1b[B":
			at = min(at+1, len(options)-1)
			paint()
		case key == "\x1b[A":
			at = max(at-1, 0)
			paint()
		default:
			fmt.Printf("key %q\r\n", key)
		}
	}
}
