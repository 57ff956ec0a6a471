// Package conversation finds out which conversation a program on a terminal is in, where
// the program does not let its starter choose the id: from the files that it has open.
//
// It builds a shell command for the session's own machine and environment, and reads its
// output. An id is returned only if it is certain: two candidates are none. The controller
// calls it; it runs nothing itself.
package conversation

import (
	"path"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"gascity.dev/gc/internal/shell"
)

// Ways to find an id.
const (
	OpenFile    = "open-file"    // its name is in that of a file that the program has open
	OpenCodeLog = "opencode-log" // in the log that OpenCode has open
)

// Finder finds the conversation of one program.
type Finder struct {
	By    string // OpenFile or OpenCodeLog
	Files string // OpenFile: names of the files of a conversation, with {id}; only the last element counts
}

// open lists what the programs of this session have open. It fails where there is no
// procfs, as on macOS.
const open = `ls -l /dev/null $(grep -lsz "^GC_SESSION_ID=$GC_SESSION_ID\$" /proc/[0-9]*/environ | sed 's/environ$/fd/') 2>/dev/null | sed -n 's/^.* -> \(\/.*\)$/\1/p' | sort -u`

// openCodeLog lists the lines of the log that begin a program's run or name a conversation.
// It follows the time and the directory of the session.
const openCodeLog = `date +%s; pwd -P
for f in $(` + open + ` | grep '/opencode/log/[^ /]*\.log$'); do
	grep -E 'message=("creating instance"|created id=ses_|loop session\.id=ses_)' "$f" | tail -n 5000
done`

// Command returns the command that Parse reads the output of, for a shell in the
// environment of the session.
func (f Finder) Command() string {
	if f.By == OpenCodeLog {
		return openCodeLog
	}
	pattern := strings.ReplaceAll(path.Base(f.Files), "{id}", "*")
	return open + ` | while IFS= read -r f; do case ${f##*/} in ` + glob(pattern) + `) printf '%s\n' "$f";; esac; done`
}

// glob quotes a pattern except for its stars.
func glob(pattern string) string {
	parts := strings.Split(pattern, "*")
	for i, p := range parts {
		if p != "" {
			parts[i] = shell.Quote(p)
		}
	}
	return strings.Join(parts, "*")
}

// Parse returns the id in the output of Command, "" if there is none, or more than one.
// age is how long ago the program was started.
func (f Finder) Parse(output string, age time.Duration) string {
	if f.By == OpenCodeLog {
		return parseOpenCode(output, age)
	}
	var found []string
	name := fileName(path.Base(f.Files))
	for line := range strings.Lines(output) {
		if m := name.FindStringSubmatch(path.Base(strings.TrimRight(line, "\n"))); m != nil {
			found = append(found, m[1])
		}
	}
	return only(found)
}

// fileName matches the name of a conversation's file. The id is a UUID.
func fileName(pattern string) *regexp.Regexp {
	expr := regexp.QuoteMeta(pattern)
	expr = strings.ReplaceAll(expr, `\*`, `.*`)
	expr = strings.ReplaceAll(expr, `\{id\}`, `([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`)
	return regexp.MustCompile("^" + expr + "$")
}

// only returns the one value of a list, "" if there are others.
func only(list []string) string {
	one := ""
	for _, x := range list {
		if one != "" && x != one {
			return ""
		}
		one = x
	}
	return one
}

// startSlack is how much earlier than expected a program may say that it runs: clocks
// round.
const startSlack = 2 * time.Second

// logPatterns are the lines of OpenCode's log that count.
type logPatterns struct{ time, begin, created, loop *regexp.Regexp }

// Compiled when first used: every start of gc would pay for them.
var logs = sync.OnceValue(func() logPatterns {
	return logPatterns{
		time:    regexp.MustCompile(`^timestamp=(\S+) .*?\brun=(\S+) `),
		begin:   regexp.MustCompile(`message="creating instance" directory=(.*)$`),
		created: regexp.MustCompile(`message=created id=(ses_\w+) .*\bparentID=(\w+)`),
		loop:    regexp.MustCompile(`message=loop session\.id=(ses_\w+)`),
	}
})

// parseOpenCode returns the conversation that the run of this program was in last. All
// programs of a person share the log: ours is the only run that began in our directory
// since our start.
func parseOpenCode(output string, age time.Duration) string {
	now, rest, _ := strings.Cut(output, "\n")
	dir, rest, _ := strings.Cut(rest, "\n")
	sec, err := strconv.ParseInt(now, 10, 64)
	if err != nil {
		return ""
	}
	since := time.Unix(sec, 0).Add(-age - startSlack)
	var runs []string
	child, last := map[string]bool{}, map[string]string{}
	for line := range strings.Lines(rest) {
		line = strings.TrimRight(line, "\n")
		at := logs().time.FindStringSubmatch(line)
		if at == nil {
			continue
		}
		if t, err := time.Parse(time.RFC3339, at[1]); err != nil || t.Before(since) {
			continue
		}
		if m := logs().begin.FindStringSubmatch(line); m != nil && m[1] == dir {
			runs = append(runs, at[2])
		}
		if m := logs().created.FindStringSubmatch(line); m != nil {
			child[m[1]] = m[2] != "undefined"
		}
		if m := logs().loop.FindStringSubmatch(line); m != nil && !child[m[1]] {
			last[at[2]] = m[1]
		}
	}
	return last[only(runs)]
}
