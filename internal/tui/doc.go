// Package tui is gc ui: the fleet in a terminal. It shows who needs somebody, every agent and
// the live screen of one or of many, and does what a person asks.
//
// It knows the fleet only as a [fleet.Fleet] and keeps nothing that must last. It is one
// model with a view for each thing to look at; Bubble Tea reads the keys and runs the
// commands, internal/tui/internal/terminal paints, and only when something changed. What a
// program printed reaches the terminal only through internal/tui/internal/cells. cmd/gc-ui
// calls [Run].
package tui
