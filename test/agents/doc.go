// Package agents drives the real coding agents, as npm has them, through the
// built gc: from the first start in an empty home to the resumed conversation.
// `make e2e-agents` runs it (build tag agents).
//
// Its invariants: the versions are pinned by npm/package-lock.json; no agent
// reaches a network, because everything runs in a network namespace where only
// the stub model answers; an agent is an ordinary user in a home of its own;
// and the presets are used as they are. The table in docs/agents.md is written
// by -report.
package agents
