// Package assets holds the files of gc web's page: hand-written modules and
// styles, and xterm.js as npm has it. It embeds them and does nothing else;
// internal/web serves them.
//
// public is what a browser without a session gets: the login page and its files.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed app public vendor
var files embed.FS

// App are the files for browsers with a session: app/… and vendor/….
func App() fs.FS { return files }

// Public are the files for everyone.
func Public() fs.FS {
	sub, err := fs.Sub(files, "public")
	if err != nil {
		panic(err) // it is embedded
	}
	return sub
}
