package format

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/clipperhouse/displaywidth"

	"gascity.dev/gc/internal/testenv"
)

// values is a source without others around it.
type values map[string]string

func (v values) Value(name string) (string, bool) { s, ok := v[name]; return s, ok }
func (v values) Each(byte) ([]Source, int)        { return []Source{v}, 0 }
func (v values) Width(text string) int            { return displaywidth.String(text) }
func (v values) Exists(_ byte, name string) bool {
	return name == v["window_name"] || name == v["session_name"]
}

// formats are expanded by tmux, too; the variables are user options.
var formats = []string{
	`plain`, ``, `#`, `a#`, `##`, `###`, `a##b`, `#{@a}`, `#{@none}`, `x#{@a}y#{@b}z`, `#Q`, `#,#}`,
	`#{?@a,yes,no}`, `#{?@none,yes,no}`, `#{?@zero,yes,no}`, `#{?#{@a},#{@b},no}`, `#{?@a,#{?@none,1,2},3}`,
	`#{?@a,a#,b,c}`, `#{?@none,a,}`, `#{?@a,#[fg=red#,bold]x,y}`, `#{?,a,b}`, `#{?1,a,b}`, `#{?x,a,b}`,
	`#{==:#{@a},alpha}`, `#{==:a,b}`, `#{!=:a,b}`, `#{<:1,2}`, `#{>:b,a}`, `#{<=:a,a}`, `#{>=:a,b}`, `#{==:#{@none},}`,
	`#{||:0,1}`, `#{||:0,0}`, `#{&&:1,1}`, `#{&&:1,0}`, `#{&&:#{@a},#{@zero}}`, `#{||:#{==:a,b},#{==:a,a}}`,
	`#{m:al*,#{@a}}`, `#{m:b*,#{@a}}`, `#{m/r:^a.*a$,#{@a}}`, `#{m/ri:^ALPHA$,#{@a}}`, `#{m/i:ALPHA,#{@a}}`, `#{m:*/x,#{@path}}`, `#{m:*,a/b}`,
	`#{=3:@a}`, `#{=-3:@a}`, `#{=99:@a}`, `#{=/3/...:@a}`, `#{=/-3/...:@a}`, `#{=4:@wide}`, `#{=-4:@wide}`, `#{p8:@a}|`, `#{p-8:@a}|`, `#{p2:@a}`,
	`#{s/a/X/:@a}`, `#{s/^a/X/:@a}`, `#{s/(l.)/<\1>/:@a}`, `#{s/A/X/i:@a}`, `#{s|/|-|:@path}`, `#{=3;p6:@a}|`, `#{s/a/b/;=2:@a}`,
	`#{b:@path}`, `#{d:@path}`, `#{l:#{@a}}`, `#{l:a#,b}`, `#{E:@nested}`, `#{T:@nested}`, `#{q:@odd}`, `#{q/e:@odd}`, `#{n:@a}`, `#{n:@wide}`, `#{w:@wide}`,
	`#{a:65}`, `#{a:@none}`, `#{e|+|:3,4}`, `#{e|-|:3,4}`, `#{e|*|:3,4}`, `#{e|/|:7,2}`, `#{e|m|:7,2}`, `#{e|/|f:7,2}`, `#{e|/|f|4:7,3}`, `#{e|<|:3,4}`, `#{e|==|:4,4}`, `#{e|+|:x,1}`,
	`#{N:win}`, `#{N:nobody}`, `#{N/s:sess}`, `#{N/s:nobody}`,
	`#S #W #I`, `#{session_name}:#{window_name}`, `#[fg=red]x`, `##[fg=red]x`, `###[x]`, `#{`, `a#{b`, `#{@a`, `#{}`, `}`, `a}b`, `#{@a}}`,
	`#{?@a}`, `#{==:a}`, `#{x:y}`, `#{:}`, `#{=:@a}`, `#{s/a:@a}`, `#{@a;@b}`, `#{#{@a}}`, `#{E:#{@a}}`, `#{l:}`,
	`#{W:w#{window_name} }`, `#{S:[#{session_name}]}`, `#{t:@none}`, `#{t/f/%%Y:@none}`, `#{session_name`, `漢字#{@wide}`,
	`#{?#{==:#{@a},alpha},#{?#{m:b*,#{@b}},both,first},none}`, `#{s/a/#{@b}/:@a}`, `#{E:@loop}`,
}

var options = values{
	"@a": "alpha", "@b": "beta", "@zero": "0", "@path": "/usr/lib/x", "@wide": "漢字ab", "@nested": "<#{@a}>", "@odd": "a b$c'#{x}\"", "@loop": "#{E:@loop}",
}

// TestAgainstTmux: every format gives what tmux gives.
func TestAgainstTmux(t *testing.T) {
	tmux := testenv.Need(t, "tmux")
	socket := t.TempDir() + "/s"
	run := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(tmux, append([]string{"-S", socket, "-f", "/dev/null"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("tmux %q: %v: %s", args, err, out)
		}
		return strings.TrimSuffix(string(out), "\n")
	}
	run("new-session", "-d", "-s", "sess", "-n", "win", "sleep 1000")
	defer run("kill-server")
	source := values{"session_name": "sess", "window_name": "win", "window_index": "0"}
	for name, value := range options {
		run("set-option", "-g", name, value)
		source[name] = value
	}
	version := run("-V")
	for _, f := range formats {
		if f == "" {
			continue // the default message
		}
		want, got := run("display-message", "-p", f), Expand(f, source)
		if got != want {
			t.Errorf("%q: %q, %s has %q", f, got, version, want)
		}
	}
}

// TestBounds: a format that would never end, or grow without end, ends.
func TestBounds(t *testing.T) {
	grow := values{"@a": "#{E:@a}#{E:@a}", "@long": strings.Repeat("x", 100000)}
	if got := Expand("#{E:@a}", grow); got != "" {
		t.Errorf("%d bytes", len(got))
	}
	if got := Expand(strings.Repeat("#{@long}", 100), grow); len(got) > 2*maxLength {
		t.Errorf("%d bytes", len(got))
	}
}

// FuzzExpand: no format makes it fail or grow without end.
func FuzzExpand(f *testing.F) {
	for _, s := range formats {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if got := Expand(text, options); len(got) > 4*maxLength+len(text) {
			t.Error(fmt.Sprint(len(got)))
		}
	})
}
