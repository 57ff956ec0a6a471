// Command site makes a static site of the documents: site REPOSITORY OUTPUT. Every page is
// complete in itself: no script, no network. Its links are those of the Markdown files,
// which can be read as they are.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
)

//go:embed page.html
var pageText string

//go:embed style.css
var style []byte

// section is a part of the navigation.
type section struct {
	Title string
	Pages []string // Markdown files
}

// sections are the pages in the navigation; other documents are reached by links.
var sections = []section{
	{"Begin", []string{"README.md", "docs/tutorial.md", "docs/concepts.md", "docs/install.md", "docs/coming-from.md", "docs/faq.md", "docs/troubleshooting.md"}},
	{"Use", []string{"docs/city-toml.md", "docs/cli/gc.md", "docs/agents.md", "docs/recipes/README.md", "docs/attach.md", "docs/ui.md", "docs/web.md", "docs/attention.md", "docs/mail.md", "docs/exec.md", "docs/hosts.md", "docs/kubernetes.md"}},
	{"Interfaces", []string{"docs/api.md", "docs/city-api.md", "docs/acp.md", "docs/hooks.md", "docs/exec-protocol.md"}},
	{"Design", []string{"ARCHITECTURE.md", "docs/adr/README.md", "docs/security.md", "docs/vt-differences.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md"}},
}

// short are titles in the navigation.
var short = map[string]string{
	"README.md": "Overview", "docs/cli/gc.md": "Commands", "docs/adr/README.md": "Decisions",
	"docs/coming-from.md": "Coming from tmux and others", "SECURITY.md": "Reporting a vulnerability",
}

// link is an entry of a page's navigation.
type link struct {
	Title, To string
	Here      bool
}

type group struct {
	Title string
	Links []link
}

// page is what page.html shows.
type page struct {
	Title, Style, Home string
	Groups             []group
	Body               template.HTML
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site REPOSITORY OUTPUT")
		os.Exit(2)
	}
	if err := build(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func build(repo, out string) error {
	files := []string{"README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}
	var copies []string
	err := filepath.WalkDir(filepath.Join(repo, "docs"), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(repo, file)
		if filepath.Ext(file) == ".md" {
			files = append(files, filepath.ToSlash(rel))
		} else {
			copies = append(copies, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, file := range copies {
		b, err := os.ReadFile(filepath.Join(repo, file))
		if err == nil {
			err = write(out, file, b)
		}
		if err != nil {
			return err
		}
	}
	if err := write(out, "style.css", style); err != nil {
		return err
	}
	return pages(repo, out, files)
}

func pages(repo, out string, files []string) error {
	texts, titles := map[string][]byte{}, map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(filepath.Join(repo, file))
		if err != nil {
			return err
		}
		texts[file], titles[file] = b, titleOf(b)
	}
	// The documents are ours: their HTML (anchors) is passed on.
	md := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID()), goldmark.WithRendererOptions(html.WithUnsafe()))
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return err
	}
	for _, file := range files {
		var body, whole bytes.Buffer
		if err := md.Convert(texts[file], &body); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		p := page{Title: titles[file], Style: from(file, "style.css"), Home: from(file, "index.html"), Groups: navigation(file, titles), Body: template.HTML(links(body.String(), titles, file))}
		if err := t.Execute(&whole, p); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if err := write(out, target(file), whole.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// navigation is the list of pages, seen from one.
func navigation(at string, titles map[string]string) []group {
	var all []group
	for _, s := range sections {
		g := group{Title: s.Title}
		for _, file := range s.Pages {
			if titles[file] != "" {
				title := titles[file]
				if short[file] != "" {
					title = short[file]
				}
				g.Links = append(g.Links, link{title, from(at, target(file)), file == at})
			}
		}
		all = append(all, g)
	}
	return all
}

// target is the page that a document becomes: README.md is the index of its directory.
func target(file string) string {
	if path.Base(file) == "README.md" {
		return path.Join(path.Dir(file), "index.html")
	}
	return strings.TrimSuffix(file, ".md") + ".html"
}

// from is the address of a file of the site in the page of a document.
func from(document, to string) string {
	rel, err := filepath.Rel(path.Dir(target(document)), to)
	if err != nil {
		return to
	}
	return filepath.ToSlash(rel)
}

var (
	href    = regexp.MustCompile(`href="([^":#]+)(#[^"]*)?"`)
	heading = regexp.MustCompile(`(?m)^# (.*)$`)
	tables  = regexp.MustCompile(`(?s)<table>.*?</table>`)
)

// links makes links to documents ones to their pages, and lets wide tables scroll.
func links(body string, titles map[string]string, at string) string {
	body = href.ReplaceAllStringFunc(body, func(found string) string {
		m := href.FindStringSubmatch(found)
		file := path.Join(path.Dir(at), m[1])
		if titles[file+"/README.md"] != "" {
			file += "/README.md"
		}
		if titles[file] == "" && !strings.HasPrefix(file, "docs/img/") {
			return "" // a file that the site does not have
		}
		if titles[file] == "" {
			return found
		}
		return `href="` + from(at, target(file)) + m[2] + `"`
	})
	return tables.ReplaceAllString(body, `<div class="wide">$0</div>`)
}

func titleOf(text []byte) string {
	if m := heading.FindSubmatch(text); m != nil {
		return strings.ReplaceAll(string(m[1]), "`", "")
	}
	return "gc"
}

func write(out, file string, b []byte) error {
	to := filepath.Join(out, file)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}
