//go:build agents

package agents

import (
	"regexp"
	"strings"
)

// agent is a real agent: its user's setup, and how that person answers.
type agent struct {
	preset string
	pkg    string            // npm package
	env    []string          // in city.toml; MODEL_URL is the model's URL
	files  map[string]string // in the home, likewise
	// answers are a person's answers to the start-up questions that gc leaves
	// to people: part of the question → the option, or "<Enter>" for a field
	// that already holds the right text.
	answers map[string]string
	allow   *regexp.Regexp // the option that allows a command once; nil: it never asks
	keeps   bool           // the conversation continues after a restart
	own     string         // a file in the city that the user's own hook writes
	hook    string         // the last call of a hook in a turn; "" if gc installs none
	says    bool           // its hooks have the last message
	// missing lists unsupported mechanisms: step → explanation.
	missing map[string]string
	// bare is what gc reports without key, login and network: blockedAuth, or
	// part of start's output; "": it works anyway.
	bare string
}

const blockedAuth = "blocked (auth)"

// For agents whose conversations gc cannot name at the start.
const noID = "a new conversation: no conversation can be named at the start"

// answer returns the option for a question, "" if the table has none.
func (a *agent) answer(q question) string {
	for part, option := range a.answers {
		if strings.Contains(q.Prompt, part) || strings.Contains(q.Metadata["context"], part) {
			return option
		}
	}
	return ""
}

var agents = []*agent{
	{
		preset: "claude", pkg: "@anthropic-ai/claude-code",
		hook: "claude Stop", says: true,
		env: []string{"ANTHROPIC_BASE_URL=MODEL_URL", "ANTHROPIC_AUTH_TOKEN=stub", "DISABLE_AUTOUPDATER=1",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"},
		allow: regexp.MustCompile(`^Yes$`), keeps: true,
		bare: "Unable to connect to Anthropic services",
	},
	{
		preset: "codex", pkg: "@openai/codex",
		hook: "codex agent-turn-complete", says: true, own: "notified",
		env: []string{"STUB_KEY=stub"},
		files: map[string]string{".codex/config.toml": `model = "stub"
model_provider = "stub"
check_for_update_on_startup = false
notify = ["/bin/sh", "-c", "printf '%s\\n' \"$1\" >>notified", "own"]

[model_providers.stub]
name = "stub"
base_url = "MODEL_URL/v1"
wire_api = "responses"
env_key = "STUB_KEY"
`},
		allow: regexp.MustCompile(`^Yes, proceed`), keeps: true,
		bare: blockedAuth,
	},
	{
		preset: "gemini", pkg: "@google/gemini-cli",
		env:     []string{"GEMINI_API_KEY=stub", "GOOGLE_GEMINI_BASE_URL=MODEL_URL"},
		answers: map[string]string{"authenticate for this project": "Use Gemini API Key", "Enter Gemini API Key": "<Enter>"},
		allow:   regexp.MustCompile(`^Allow once`), keeps: true,
		missing: map[string]string{"tools": "it takes MCP servers for one session only from files that root owns"},
		bare:    blockedAuth,
	},
	{
		preset: "opencode", pkg: "opencode-ai",
		hook: "opencode done", says: false,
		env: []string{"OPENCODE_DISABLE_MODELS_FETCH=1", "npm_config_fetch_retries=0"},
		files: map[string]string{".config/opencode/opencode.json": `{
  "model": "stub/stub", "small_model": "stub/stub", "autoupdate": false,
  "provider": {"stub": {"npm": "@ai-sdk/openai-compatible", "name": "stub",
    "options": {"baseURL": "MODEL_URL/v1", "apiKey": "stub"},
    "models": {"stub": {"name": "stub", "tool_call": true, "limit": {"context": 100000, "output": 8000}}}}}
}`},
		allow: regexp.MustCompile(`^Allow once`), keeps: true,
	},
	{
		preset: "qwen", pkg: "@qwen-code/qwen-code",
		hook: "qwen Stop", says: true,
		env:   []string{"OPENAI_API_KEY=stub", "OPENAI_BASE_URL=MODEL_URL/v1", "OPENAI_MODEL=stub"},
		allow: regexp.MustCompile(`^(Yes, a|A)llow once`), keeps: true,
		bare: blockedAuth,
	},
	{
		preset: "pi", pkg: "@mariozechner/pi-coding-agent",
		hook: "pi done", says: true,
		files: map[string]string{
			".pi/agent/models.json": `{"providers": {"stub": {"baseUrl": "MODEL_URL/v1", "api": "openai-completions", "apiKey": "stub",
  "models": [{"id": "stub", "name": "stub", "contextWindow": 100000, "maxTokens": 8000}]}}}`,
			".pi/agent/settings.json": `{"defaultProvider": "stub", "defaultModel": "stub"}`,
		},
		missing: map[string]string{
			"tools": "it takes no MCP servers", "asks": "it never asks", "respond": "it never asks", "auto-edit": "bypass is its only level",
			"bypass": "the whole journey is in this level", "resume": noID,
		},
		bare: blockedAuth,
	},
}
