package policy_test

import (
	"testing"

	"gascity.dev/gc/internal/acp/conversation"
	"gascity.dev/gc/internal/acp/policy"
)

// An allow rule with a wildcard matches simple commands only.
func TestAllowedCommands(t *testing.T) {
	p := mustNew(t, policy.Config{Allow: []string{"execute:go test *"}})
	for command, want := range map[string]string{
		"go test ./...":                          "yes",
		"  go test ./...\n":                      "yes",
		`go test -run 'A|B' ./...`:               "yes",
		`go test -run "a;b" ./...`:               "yes",
		`go test -run '$(x)`:                     "ask", // the quote is open
		"go test -run 'a\nb'":                    "yes",
		"go test -run 'a\\.b'":                   "yes",
		`go test -run "a\.b"`:                    "yes",
		"go test":                                "ask",
		"go testing x":                           "ask",
		"cd x && go test ./...":                  "ask",
		"LD_PRELOAD=x go test ./...":             "ask",
		"go test ./... ; rm -rf /":               "ask",
		"go test ./... && rm -rf /":              "ask",
		"go test ./... & rm -rf /":               "ask",
		"go test ./... | sh":                     "ask",
		"go test ./...\nrm -rf /":                "ask",
		"go test ./...\r\nrm -rf /":              "ask",
		"go test $(curl x)":                      "ask",
		"go test `curl x`":                       "ask",
		`go test "$(curl x)"`:                    "ask",
		"go test \"`curl x`\"":                   "ask",
		"go test $HOME":                          "ask",
		"go test ./... > /etc/passwd":            "ask",
		"go test < /etc/passwd":                  "ask",
		"go test <(curl x)":                      "ask",
		"go test (x)":                            "ask",
		`go test \; rm`:                          "ask",
		`go test "a\"; rm -rf /; "`:              "ask",
		`go test 'a\'; rm -rf /; '`:              "ask",
		"go test './...":                         "ask",
		"go test \x00":                           "ask",
		"go test \u0085rm":                       "ask",
		"go test 'a' ; rm":                       "ask",
		`go test "a" 'b' "c;d" e`:                "yes",
		"go test $'a\\'; rm -rf /'":              "ask",
		"go test \\\n./...":                      "ask",
		`go test "a\\"`:                          "ask",
		"go test 'a'\\''; rm -rf / '\\''":        "ask",
		"go test '\\''; rm -rf / '\\''":          "ask",
		"go test -exec 'sh -c \"rm -rf /\"' ./x": "yes", // a program may run others: this is not a sandbox
	} {
		if got := brief(p.Decide(permission(conversation.Tool{Kind: "execute", Command: command}, yesNo...))); got != want {
			t.Errorf("%q: %s, want %s", command, got, want)
		}
	}
}

// A deny rule finds its command in any part of a longer one.
func TestDeniedCommands(t *testing.T) {
	p := mustNew(t, policy.Config{Permission: "allow", Deny: []string{"execute:git push*", "execute:rm *"}})
	for command, want := range map[string]string{
		"git push":                   "no",
		"git push origin main":       "no",
		"git  push":                  "no",
		"cd x && git push -f":        "no",
		"true; git push":             "no",
		"git status\ngit push":       "no",
		"gi\\\nt push":               "no",
		"(git push)":                 "no",
		"{ git push; }":              "no",
		"echo $(git push)":           "no",
		"echo `git push`":            "no",
		`echo "$(git push)"`:         "no",
		`bash -c "git push"`:         "no",
		`bash -lc 'cd x; git push'`:  "no",
		"GIT_SSH=x git push":         "no",
		"env -i A=b git push":        "no",
		"A='b c' git push":           "no",
		`A="b c" B=d git push`:       "no",
		"A='b c' git status":         "yes",
		"sudo -n /usr/bin/git push":  "no",
		"timeout 5s git push":        "no",
		"if git push; then x; fi":    "no",
		"'git' \"push\"":             "no",
		"xargs rm -f < list":         "no",
		"git -C x push origin":       "no",
		"git --no-pager -c a=b push": "no",
		"sudo git -C '/a b' push":    "no",
		"git --git-dir=x push":       "no",
		"git -C x pull":              "yes",
		"git commit -m push":         "yes",
		"git --no-pager log -1":      "yes",
		"git pull":                   "yes",
		"git rm x":                   "yes",
		"docker run --rm x":          "yes",
		"echo git push":              "yes",
		"cat push":                   "yes",
		"FOO=rm ls":                  "yes",
	} {
		if got := brief(p.Decide(permission(conversation.Tool{Kind: "execute", Command: command}, yesNo...))); got != want {
			t.Errorf("%q: %s, want %s", command, got, want)
		}
	}
}
