// Package acpsh is an agent for tests: it speaks ACP by the Go SDK, a second
// implementation of the protocol, and runs a shell command. What the command prints is
// what the agent says, at any time. A prompt is a line of the command's standard input,
// and its turn ends once the output is quiet. The agent ends with the command, with its
// status.
//
// Three prompts are for the agent itself: "HOLD" is a turn that lasts until it is
// cancelled; "ASK KIND LABEL…" asks for a permission with these options, and then says
// "chose LABEL"; "FORM VALUE…" asks for one of the values, or for text without any, and
// then says "filled in VALUE", "declined" or "cancelled". The agent has the modes ask and code, the models small and large, the
// commands /review and /reset, and resumes every session.
//
// The environment variable ACPSH changes it: with "forgets" it resumes no session, with
// "login" it requires authentication, with "late" only once it gets a message.
//
// Only tests import it. A test binary becomes the agent:
//
//	func TestMain(m *testing.M) {
//		if acpsh.Called() {
//			os.Exit(acpsh.Main(os.Args))
//		}
//		os.Exit(m.Run())
//	}
//
// and [Command] is the command line that starts it.
package acpsh

import (
	"os"

	"gascity.dev/gc/internal/shell"
)

// variable is set for a process that is to be the agent.
const variable = "GC_TEST_ACPSH"

// Called reports whether this process was started with [Command].
func Called() bool { return os.Getenv(variable) != "" }

// Command returns a shell command line that starts this program as an agent that runs
// line.
func Command(line string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	return "exec env " + variable + "=1 " + shell.Quote(exe) + " " + shell.Quote(line), nil
}
