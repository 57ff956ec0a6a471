// Package thirdparty has the licences of what gc's programs are linked with: the modules,
// the Go standard library and xterm.js. The text is generated (make notices); a test
// compares it with the modules that the programs have.
package thirdparty

import _ "embed"

// Notices are the notices of everything in gc, gc-mcp, gc-ui and gc-k8s.
//
//go:embed notices.txt
var Notices string
