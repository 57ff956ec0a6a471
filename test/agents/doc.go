// Package agents drives real coding agents, installed from npm, through the
// built gc: from the first start in an empty home to the resumed conversation.
// `make e2e-agents` runs it (build tag agents).
//
// Its invariants: npm/package-lock.json pins the versions; no agent reaches a
// network, because everything runs in a network namespace where only the stub
// model answers; an agent runs as an ordinary user in a home of its own; and
// presets are used unchanged. -report writes the table in docs/agents.md.
package agents
