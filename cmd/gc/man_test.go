package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/topics"
)

// manDir is where make man wants the pages; cobra/doc is linked into this test only.
var (
	manDir = flag.String("man", "", "write the man pages to this directory")
	manFor = flag.String("name", cli.Product, "the name of the program in man pages")
)

// TestManPages makes a page for every command and topic, and checks them with man, if
// there is one.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	called := cli.Program
	cli.SetProgram(*manFor, isCommand)
	t.Cleanup(func() { cli.Program = called })
	at := manDate(t)
	eachCommand(newRootCmd(&app{}), func(cmd *cobra.Command) { writeManPage(t, dir, "man1", manName(cmd)+".1", commandPage(t, cmd, at)) })
	for _, topic := range topics.All() {
		text, err := topic.Text(nil)
		if err != nil {
			t.Fatal(err)
		}
		if topic.Name == topics.CityTOML {
			for _, table := range topic.Words() {
				keys, err := topic.Text([]string{table})
				if err != nil {
					t.Fatal(err)
				}
				text += "\n" + keys
			}
			writeManPage(t, dir, "man5", "city.toml.5", topicPage("city.toml", "5", topic.Short, text, at))
			continue
		}
		writeManPage(t, dir, "man7", *manFor+"-"+topic.Name+".7", topicPage(*manFor+"-"+topic.Name, "7", topic.Short, cli.Named(text), at))
	}
	if *manFor == cli.Product {
		checkMan(t, dir)
	}
}

// manDate is the date in the pages: that of the commit, so that two builds are the same.
func manDate(t *testing.T) time.Time {
	t.Helper()
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return time.Unix(0, 0).UTC()
	}
	return time.Unix(seconds, 0).UTC()
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// commandPage is the page of one command, made by cobra/doc from its help as Markdown.
func commandPage(t *testing.T, cmd *cobra.Command, at time.Time) []byte {
	t.Helper()
	cmd.DisableAutoGenTag = true
	cmd.Long = markdown(cmd.Long)
	cmd.Example = dedent(cmd.Example)
	var b bytes.Buffer
	if err := doc.GenMan(cmd, &doc.GenManHeader{Section: "1", Date: &at, Source: "gc", Manual: "gc"}, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// plainMarkdown escapes what Markdown would take for marks.
var plainMarkdown = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`, "[", `\[`)

// markdown marks the indented lines of a help as code, which keeps their columns.
func markdown(help string) string {
	var out []string
	code := false
	for _, line := range strings.Split(help, "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !code:
			out = append(out, "", "```")
			code = true
		case !indented && code:
			out = append(out, "```", "")
			code = false
		}
		if !code {
			line = plainMarkdown.Replace(line)
		}
		out = append(out, line)
	}
	if code {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

// topicPage is a text as a page, line by line.
func topicPage(name, section, short, text string, at time.Time) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH %q %q %q \"gc\" \"gc\"\n.SH NAME\n%s \\- %s\n.SH DESCRIPTION\n.nf\n", strings.ToUpper(name), section, at.Format("Jan 2006"), name, short)
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "…", "...").Replace(line)
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(".fi\n")
	return b.Bytes()
}

func writeManPage(t *testing.T, dir, section, name string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, section), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, section, name), text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// checkMan reads pages as a person does: nothing of the help is lost.
func checkMan(t *testing.T, dir string) {
	t.Helper()
	man, err := exec.LookPath("man")
	if err != nil {
		t.Log("no man here: the pages are not read")
		return
	}
	for page, want := range map[string][]string{
		"man1/gc-wait.1":       {"exit        the program ended", "124  timeout", "gc wait agent --exit-status || echo it failed", "--timeout"},
		"man1/gc.1":            {"gc init my-city && cd my-city && gc start", "gc-session(1)"},
		"man1/gc-session-op.1": {"Exit status"},
		"man5/city.toml.5":     {"idle_timeout (duration", "[[mcp_servers]]"},
		"man7/gc-states.7":     {"quarantined  it ended more than"},
	} {
		cmd := exec.Command(man, "--warnings=w", "-E", "UTF-8", "-P", "cat", "-l", filepath.Join(dir, page))
		cmd.Env = append(os.Environ(), "MANWIDTH=120", "LC_ALL=C.UTF-8", "GROFF_NO_SGR=1", "MAN_KEEP_FORMATTING=")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 {
			t.Errorf("man %s: %v\n%s", page, err, stderr.Bytes())
		}
		for _, w := range want {
			if !strings.Contains(string(out), w) {
				t.Errorf("man %s lacks %q:\n%s", page, w, out)
			}
		}
	}
}
