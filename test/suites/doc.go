// Package suites runs public test suites of terminals against vt.
//
// The Unicode break test comes with a Go module, and the cases in testdata are ported by
// fact: the bytes that a program sends and the screen that follows, in our own words.
// Both run in every `make test`. With the build tag suites, the tests also read what
// fetch.sh keeps in ~/.cache/gc-suites by version and hash: libvterm's assertions and
// xterm.js's escape_sequence_files. `make suites` runs everything.
//
// Its invariant: a case fails only if docs/vt-differences.md names it with a reason, and
// a case named there fails.
package suites
