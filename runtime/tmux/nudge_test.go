package tmux_test

import (
	"testing"

	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/runtime"
)

// painter shows typed text on the fifth row and keeps the cursor at the top.
// deaf: Enter does nothing; taking: it clears the row; blind: nothing is shown.
const painter = `#!/bin/bash
stty raw -echo
printf '\033[2Jready\033[H'
text=
while IFS= read -rsn1 -d '' k; do
	case $k in
	$'\r' | $'\n') [ "$1" = deaf ] || text= ;;
	*) text+=$k ;;
	esac
	[ "$1" = blind ] || printf '\033[5;1H\033[K> %s\033[H' "$text"
done
`

// A receipt needs evidence; a cursor elsewhere is none.
func TestNudgeNeedsEvidence(t *testing.T) {
	p := newBackend(t).provider(t)
	dir := t.TempDir()
	script := dir + "/painter"
	if err := testenv.WriteProgram(script, []byte(painter)); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[string]runtime.State{
		"deaf": runtime.Unverified, "taking": runtime.Submitted, "blind": runtime.Unverified,
	} {
		t.Run(mode, func(t *testing.T) {
			cfg := runtime.Config{WorkDir: dir, Command: "exec " + script + " " + mode, ReadyPromptPrefix: "ready"}
			if err := p.Start(t.Context(), mode, cfg); err != nil {
				t.Fatal(err)
			}
			r, err := p.Nudge(t.Context(), mode, runtime.TextContent("a message"))
			if err != nil || r.State != want {
				screen, _ := p.Peek(t.Context(), mode, 0)
				t.Errorf("%+v, %v, want %s; screen:\n%s", r, err, want, screen)
			}
			if err := p.Stop(t.Context(), mode); err != nil {
				t.Error(err)
			}
		})
	}
}
