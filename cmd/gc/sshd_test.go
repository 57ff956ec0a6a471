package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"gascity.dev/gc/internal/testenv/sshd"
)

// farHosts is the key of a script's other machines.
type farHosts struct{}

// cmdSSHD is `sshd NAME [OPTION…]`: makes another machine of that name, for GC_SSH.
// Its home is $NAME, with gc only by the option gc. The others are of [sshd.Options]:
// login=TEXT, forced=TEXT, env=NAME=VALUE, unknown. `sshd NAME down` and `up` end and
// restore the way to it; `sshd NAME end` kills what runs there.
func cmdSSHD(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: sshd name [option...]")
	}
	list := ts.Value(farHosts{}).(*[]*sshd.Host)
	for _, h := range *list {
		if h.Name == args[0] {
			for _, word := range args[1:] {
				changeHost(ts, h, word)
			}
			return
		}
	}
	gc, err := os.Executable()
	ts.Check(err)
	o := sshd.Options{Name: args[0]}
	for _, option := range args[1:] {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "gc":
			o.GC = gc
		case "login":
			o.Login = value
		case "forced":
			o.Forced = value
		case "env":
			o.Env = append(o.Env, value)
		case "unknown":
			o.UnknownKey = true
		default:
			ts.Fatalf("unknown option %s", option)
		}
	}
	h := sshd.Start(ts.Value(scriptTB{}).(testing.TB), o)
	*list = append(*list, h)
	ts.Setenv(h.Name, h.Home)
	ts.Setenv("GC_SSH", sshd.SSH(*list...))
}

// scriptTB is the key of a script's test.
type scriptTB struct{}

func changeHost(ts *testscript.TestScript, h *sshd.Host, word string) {
	switch word {
	case "down":
		h.Down()
	case "up":
		h.Up()
	case "end":
		h.End()
	default:
		ts.Fatalf("unknown word %s", word)
	}
}
