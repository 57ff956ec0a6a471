//go:build e2e

package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gascity.dev/gc/internal/testenv"
)

// shimScripts run on tmux and on gc tmux: every line is a shell command, whose output,
// errors and exit status are to be the same. seen waits until a pane shows a text.
var shimScripts = map[string]string{
	"sessions": `
tmux -V
tmux new-session -d -s one -x 100 -y 30 cat
tmux new-session -d -s one cat
tmux new -d -s two -x 80 -y 24 'sleep 1000'
tmux new -d -s a.b:c cat
tmux has-session -t one
tmux has -t =one
tmux has -t =on
tmux has -t on
tmux has -t 't*'
tmux has -t nobody
tmux has -t '$0'
tmux has -t '$99'
tmux list-sessions -F '#{session_name} #{session_windows} #{session_attached} #{session_id}'
tmux ls -F '#S' -f '#{m:*o*,#{session_name}}'
tmux rename-session -t two drei
tmux rename-session -t drei one
tmux rename-session -t drei 'x:y'
tmux ls -F '#{session_name}'
tmux new -d -P -F '#{session_name}:#{window_index}.#{pane_index} #{pane_id}' -s p cat
tmux new -d -P -s q cat
tmux kill-session -t a_b_c
tmux kill-session -t nobody
tmux kill-session -a -t one
tmux ls -F '#S'
tmux kill-session -t one
`,
	"windows": `
tmux new-session -d -s s -n zero -x 90 -y 20 cat
tmux new-window -t s -n one cat
tmux new-window -d -t s -n two cat
tmux new-window -t s:7 -n seven cat
tmux new-window -t s:7 -n again cat
tmux neww -P -d -t s cat
tmux neww -P -F '#{window_id} #{window_name}' -n named -d -t s cat
tmux list-windows -t s -F '#{window_index} #{window_name} #{window_active} #{window_flags} #{window_panes}'
tmux select-window -t s:1
tmux display-message -p -t s '#I #W'
tmux last-window -t s
tmux display-message -p -t s '#I #W'
tmux next-window -t s
tmux display-message -p -t s '#I #W'
tmux previous-window -t s
tmux select-window -t s:two
tmux display -p -t s: '#W'
tmux select-window -t s:{start}
tmux display -p -t s '#W'
tmux select-window -t 's:$'
tmux display -p -t s '#W'
tmux select-window -t s:+
tmux display -p -t s '#W'
tmux select-window -t s:nobody
tmux rename-window -t s:one 'new name'
tmux lsw -t s -F '#{window_index}:#{window_name}'
tmux move-window -s s:7 -t s:9
tmux move-window -r -t s
tmux lsw -t s -F '#{window_index}:#{window_name}'
tmux swap-window -s s:0 -t s:2
tmux lsw -t s -F '#{window_index}:#{window_name}'
tmux kill-window -t s:1
tmux lsw -a -F '#S:#{window_index}:#{window_name}'
tmux kill-window -a -t s:0
tmux lsw -a -F '#S:#{window_index}:#{window_name}'
tmux kill-window -t s:5
tmux kill-window -t s
`,
	"panes": `
tmux new-session -d -s s -x 120 -y 40 cat
tmux split-window -t s cat
tmux split-window -t s -h -d -P cat
tmux splitw -t s:0.0 -P -F '#{pane_id} #{pane_index}' cat
tmux list-panes -t s -F '#{pane_index} #{pane_id} #{pane_active} #{pane_current_command}'
tmux list-panes -a -F '#S:#I.#P'
tmux lsp -s -t s -F '#P' -f '#{pane_active}'
tmux select-pane -t s:0.2
tmux display -p -t s '#P #D'
tmux select-pane -l -t s
tmux display -p -t s '#P #D'
tmux last-pane -t s
tmux display -p -t s:.{last} '#D'
tmux display -p -t s.0 '#D'
tmux display -p -t %2 '#S:#I.#P'
tmux display -p -t s:0.+ '#P'
tmux display -p -t s:0.9 '#P'
tmux display -p -t %99 '#P'
tmux select-pane -t s:0.1 -T 'a title'
tmux display -p -t s:0.1 '#T #{pane_title}'
tmux swap-pane -s s:0.0 -t s:0.1
tmux lsp -t s -F '#P #D'
tmux break-pane -d -s s:0.3 -P
tmux lsp -a -F '#I.#P #D'
tmux join-pane -d -s s:1 -t s:0
tmux lsp -a -F '#I.#P #D'
tmux break-pane -d -s s:0.0 -n broken
tmux lsw -t s -F '#I #{window_panes}'
tmux kill-pane -t s:0.0
tmux lsp -a -F '#I.#P #D'
tmux kill-pane -a -t s:0.0
tmux lsp -a -F '#I.#P #D'
tmux respawn-pane -t s:0.0 cat
tmux respawn-pane -k -t s:0.0 cat
tmux kill-pane -t s:0.0
tmux kill-pane -t s:0.0
`,
	"keys and screens": `
tmux new-session -d -s s -x 40 -y 6 'stty -echo; echo ready; cat'
seen s ready
tmux send-keys -t s 'hello world' Enter
seen s 'hello world'
tmux capture-pane -p -t s
tmux send-keys -t s -l 'Enter C-c literally'
tmux send-keys -t s Enter
seen s literally
tmux send-keys -t s a b Space c Enter
seen s 'ab c'
tmux send-keys -t s -H 78 79 0a
seen s xy
tmux send-keys -t s -N 3 z \; send-keys -t s Enter
seen s zzz
tmux capture-pane -p -t s -S 1 -E 2
tmux send-keys -t s 'six' Enter
tmux send-keys -t s 'seven' Enter
seen s seven
tmux capture-pane -p -t s
tmux capture-pane -p -t s -S -
tmux capture-pane -p -t s -S -1 -E 0
tmux capture-pane -p -t s -S - -E -
tmux capture-pane -t s \; show-buffer
tmux capture-pane -b named -t s -E 0 \; show-buffer -b named
tmux send-keys -t s 'a long line that is longer than forty columns is' Enter
seen s 'columns is'
tmux capture-pane -p -t s
tmux capture-pane -p -J -t s
tmux clear-history -t s
tmux capture-pane -p -S - -t s
tmux display -p -t s '#{cursor_x} #{cursor_y} #{alternate_on} #{pane_width}x#{pane_height}'
tmux send-keys -t nobody x
tmux send-keys -X -t s cancel
tmux send-keys -N 0 -t s x
tmux resize-window -t s -x 50 -y 10
tmux display -p -t s '#{window_width}x#{window_height} #{pane_width}x#{pane_height}'
`,
	"buffers": `
tmux show-buffer
tmux new-session -d -s s -x 40 -y 6 'stty -echo; echo ready; cat'
seen s ready
tmux list-buffers
tmux show-buffer
tmux set-buffer 'one'
tmux set-buffer -b two 'second thing'
tmux show-buffer
tmux show-buffer -b two
tmux show-buffer -b none
tmux list-buffers
tmux list-buffers -F '#{buffer_name}=#{buffer_size}'
tmux set-buffer -a -b two ' more'
tmux show-buffer -b two
printf 'from\tfile\n' | tmux load-buffer -
tmux list-buffers
tmux show-buffer
tmux save-buffer -
tmux save-buffer -b two out.txt; cat out.txt
tmux load-buffer missing.txt
tmux load-buffer -b file out.txt
tmux paste-buffer -b file -t s
tmux send-keys -t s Enter
seen s 'second thing more'
tmux paste-buffer -d -b file -t s
tmux list-buffers -F '#{buffer_name}'
tmux delete-buffer -b two
tmux delete-buffer -b two
tmux set-buffer -n renamed
tmux list-buffers -F '#{buffer_name}'
tmux set-buffer
`,
	"options and variables": `
tmux new-session -d -s s -e FROM=cli 'echo $FROM $TMUX_PANE; cat'
seen s 'cli %0'
tmux set-option -g @user 'some value'
tmux show-options -gv @user
tmux show-options -g @user
tmux set -t s @local x
tmux show -t s @local
tmux show -v @local
tmux set -w -t s @win y
tmux show -w -v -t s @win
tmux set -p -t s @pane z
tmux show -p -v -t s @pane
tmux display -p -t s '#{@user} #{@local} #{@win} #{@pane} #{@none}'
tmux set -u -t s @local
tmux show -v -t s @local
tmux set -ga @user ' and more'
tmux show -gv @user
tmux set -go @user x
tmux set -gF @format '#S'
tmux show -gv @format
tmux show -gv base-index
tmux set -g base-index 1
tmux new-window -d -P -t s cat
tmux show -gqv nosuchoption
tmux set-environment -t s VAR value
tmux show-environment -t s VAR
tmux show-environment -t s NONE
tmux set-environment -g GLOBAL 1
tmux show-environment -g GLOBAL
tmux show-environment -s -g GLOBAL
tmux set-environment -g a=b c
tmux set-environment -g
tmux set-environment -gu GLOBAL
tmux show-environment -g GLOBAL
tmux new-window -t s -n env 'echo $VAR; cat'
seen s:env value
`,
	"shell and files": `
tmux new-session -d -s s cat
tmux run-shell 'echo out >out.txt; exit 3'
cat out.txt
tmux run-shell 'echo #{session_name} >out.txt'
cat out.txt
tmux if-shell true 'display -p yes' 'display -p no'
tmux if-shell false 'display -p yes' 'display -p no'
tmux if-shell -F '#{session_name}' 'display -p yes' 'display -p no'
tmux if-shell -F '' 'display -p yes'
printf 'set -g @f "from file" # comment\n# nothing\ndisplay -p "#{@f}; \\"q\\"" ; display -p '"'two words'"'\nif-shell true {\n display -p block\n}\n' > f.conf; tmux source-file f.conf
printf 'nonsense\n' > bad.conf; tmux source-file bad.conf
tmux source-file missing.conf
tmux source-file -q missing.conf
tmux wait-for -S ready; tmux wait-for ready && echo woken
tmux display -p 'a' \; display -p 'b' \; nonsense \; display -p 'c'
tmux display -p 'semi\;colon' \; display -p x
`,
	"errors": `
tmux new-session -d -s s cat
tmux foo
tmux s
tmux new-session -Q
tmux rename-session
tmux has-session extra words
tmux kill-server extra
tmux display -p -t 's:nobody' x
tmux display -p -t 'nobody:0' x
tmux display -p -t '@99' x
tmux select-layout -t s tiled
tmux last-window -t s
tmux next-window -t s
tmux last-pane -t s
tmux attach -t s
tmux -Z
tmux kill-server
`,
}

// shimStart defines tmux, with its server, and seen; BIN is the program.
const shimStart = `
tmux() { command $BIN -L shim -f /dev/null "$@"; }
seen() { i=0; until tmux capture-pane -p -S - -t "$1" | grep -qF -- "$2"; do i=$((i+1)); [ $i -lt 600 ] || { echo "never: $2"; tmux capture-pane -p -t "$1"; return 1; }; sleep 0.05; done; }
`

// TestTmuxShim: gc tmux says what tmux says.
func TestTmuxShim(t *testing.T) {
	real := testenv.Need(t, "tmux")
	for name, script := range shimScripts {
		t.Run(name, func(t *testing.T) {
			b := newBox(t)
			want := b.shimRun(real, script)
			got := b.shimRun(gcBin+" tmux", script)
			for i, line := range strings.Split(strings.TrimSpace(script), "\n") {
				if got[i] != want[i] {
					t.Errorf("%s\ngc tmux says %q\n   tmux says %q", line, got[i], want[i])
				}
			}
		})
	}
}

// shimRun runs a script, and returns what each line writes, and its exit status.
func (b *box) shimRun(bin, script string) []string {
	b.t.Helper()
	dir, err := os.MkdirTemp(b.dir, "shim")
	if err != nil {
		b.t.Fatal(err)
	}
	env := append([]string{"BIN=" + bin, "TMUX_TMPDIR=" + dir}, b.env...)
	run := func(line string) string {
		ctx, cancel := context.WithTimeout(context.Background(), hangs)
		defer cancel()
		cmd := exec.CommandContext(ctx, "/bin/bash", "-c", shimStart+line)
		cmd.Env, cmd.Dir = env, dir
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			b.t.Fatal(line, err)
		}
		return shimNormal(string(out), dir) + "\nexit " + itoa(cmd.ProcessState.ExitCode())
	}
	defer run("tmux kill-server")
	var all []string
	for line := range strings.Lines(strings.TrimSpace(script)) {
		all = append(all, run(strings.TrimSpace(line)))
	}
	return all
}

var shimAbsent = regexp.MustCompile(`(?m)^(no server running on .*|error connecting to .* \(No such file or directory\))$`)

// shimNormal removes what differs from run to run.
func shimNormal(text, dir string) string {
	text = strings.ReplaceAll(text, filepath.Clean(dir), "DIR")
	return shimAbsent.ReplaceAllString(text, "no server")
}
