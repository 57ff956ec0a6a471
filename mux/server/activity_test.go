package server

import (
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"golang.org/x/sys/unix"
)

// say returns a shell command that sends OSC sequences and then waits for lines.
func say(oscs ...string) string {
	var b strings.Builder
	for _, o := range oscs {
		fmt.Fprintf(&b, "printf '\\033]%s\\033\\\\'; ", o)
	}
	return b.String()
}

func doingNow(t testing.TB, c *client.Client, name string) api.Activity {
	t.Helper()
	a, err := c.Activity(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestActivityOfWhatProgramsSay(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	msg := base64.StdEncoding.EncodeToString([]byte("Delete it?"))
	for name, x := range map[string]struct {
		command, state, kind, source string
	}{
		"silent":  {"", api.ActivityUnknown, "", ""},
		"idle":    {say("7501;state=idle:app=demo"), api.ActivityIdle, "", "osc7501"},
		"works":   {say("7501;state=working", "133;A"+"\\033\\\\\\033]7501;state=working"), api.ActivityWorking, "", "osc7501"},
		"asks":    {say("7501;state=blocked:kind=permission:msg=" + msg), api.ActivityBlocked, "permission", "osc7501"},
		"prompt":  {say("133;A") + "printf done; read x; ", api.ActivityIdle, "", "prompt"},
		"dropped": {say("7501;state=working", "133;A") + "printf done; read x; ", api.ActivityIdle, "", "prompt"},
		"noshell": {say("133;A", "133;B", "133;C"), api.ActivityUnknown, "", ""},
		"busy":    {say("9;4;3"), api.ActivityWorking, "", "progress"},
		"reset":   {say("7501;state=idle") + "printf '\\033c'; ", api.ActivityUnknown, "", ""},
		"menu":    {`printf 'Remove it?\n\342\235\257 1. Yes\n  2. No\n'; ` + say("7501;state=working"), api.ActivityBlocked, "permission", "dialog"},
		"letter":  {`printf 'Go on? [y/N] '; `, api.ActivityBlocked, "question", "dialog"},
	} {
		if name != "letter" {
			x.command += "echo; printf done; "
		}
		create(t, c, name, x.command+"exec sleep 1000")
		await(t, c, name, "^done|Go on")
		a := doingNow(t, c, name)
		if a.State != x.state || a.Kind != x.kind || a.Source != x.source || a.Evidence == "" {
			t.Errorf("%s: %+v", name, a)
		}
		if name == "asks" && (a.Pending == nil || a.Pending.Prompt != "Delete it?") {
			t.Errorf("%s: %+v", name, a.Pending)
		}
	}
}

// TestActivitySurvivesTheServer: the program's report is still known after the
// server was killed.
func TestActivitySurvivesTheServer(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", say("7501;state=working:app=a", "7501;state=blocked:kind=auth:id=x/y")+"printf done; exec sleep 1000")
	await(t, c, "a", "^done")
	before := doingNow(t, c, "a")
	st, err := c.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(st.Server.PID, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	r, err := c.Wait(t.Context(), "a", api.WaitRequest{Conditions: []api.Condition{{Blocked: true}}, Timeout: 10 * time.Second})
	if err != nil || r.Met != 0 {
		t.Fatal(r, err)
	}
	after := doingNow(t, c, "a")
	if after.State != api.ActivityBlocked || after.Kind != "auth" || !after.Since.Equal(before.Since) {
		t.Fatalf("%+v, before %+v", after, before)
	}
}

// TestIdleWait: a program is idle with the ready prefix on the cursor's line, quiet, and
// no menu.
func TestIdleWait(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	out := filepath.Join(t.TempDir(), "go")
	command := fmt.Sprintf(`printf 'agent> '; read x; printf 'Sure?\n> 1. Yes\n  2. No\n'; read x; printf '\033[2J\033[Hagent> '; read x <%q`, out)
	if err := unix.Mkfifo(out, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := c.Create(t.Context(), api.CreateRequest{Name: "a", Command: command, Env: testEnv, ReadyPrefix: "agent> "})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(cond api.Condition) {
		t.Helper()
		r, err := c.Wait(t.Context(), "a", api.WaitRequest{Conditions: []api.Condition{cond}, Timeout: 10 * time.Second})
		if err != nil || r.Met != 0 {
			t.Fatalf("%+v, %v; %+v", r, err, doingNow(t, c, "a"))
		}
	}
	wait(api.Condition{Idle: true})
	if err := c.Keys(t.Context(), "a", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	wait(api.Condition{Blocked: true})
	if err := c.Keys(t.Context(), "a", []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	wait(api.Condition{Idle: true})
	f, err := os.OpenFile(out, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	awaitExit(t, c, "a")
	if a := doingNow(t, c, "a"); a.State != api.ActivityExited || a.Source != "process" {
		t.Fatalf("%+v", a)
	}
}

// TestQuestionBehindItsAnnouncement: a program announces a question before it paints it.
// Pending is the question with its options.
func TestQuestionBehindItsAnnouncement(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	create(t, c, "a", say("7501;state=blocked:kind=permission")+`sleep 0.2; printf 'Remove it?\n\342\235\257 1. Yes\n  2. No\n'; exec sleep 1000`)
	r, err := c.Wait(t.Context(), "a", api.WaitRequest{Conditions: []api.Condition{{Blocked: true}}, Timeout: 10 * time.Second})
	if err != nil || r.Met != 0 {
		t.Fatal(r, err)
	}
	a, err := c.Question(t.Context(), "a")
	if err != nil || a.Pending == nil || !slices.Equal(a.Pending.Options, []string{"Yes", "No"}) {
		t.Fatalf("%+v %+v %v", a, a.Pending, err)
	}
}

// TestRespond answers the menus of a program that prints the choice.
func TestRespond(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	ctx := t.Context()
	start := func(name, mode string) api.Pending {
		t.Helper()
		_, err := c.Create(ctx, api.CreateRequest{Name: name, Argv: []string{os.Args[0]}, Env: append([]string{menuVar + "=" + mode}, testEnv...)})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Wait(ctx, name, api.WaitRequest{Conditions: []api.Condition{{Blocked: true}}, Timeout: 10 * time.Second})
		if err != nil || r.Met != 0 {
			t.Fatal(r, err, screenText(t, c, name))
		}
		return *doingNow(t, c, name).Pending
	}
	p := start("good", "walk")
	if p.Kind != "permission" || len(p.Options) != 3 || p.Marked != "No" || p.Prompt != "Remove the folder?" || p.Context == p.Prompt {
		t.Fatalf("%+v", p)
	}
	for _, r := range []api.RespondRequest{{ID: "other", Action: "No"}, {ID: p.ID, Action: "Perhaps"}, {ID: p.ID, Action: "Ye"}} {
		if err := c.Respond(ctx, "good", r); !errors.Is(err, api.ErrQuestion) {
			t.Fatalf("%+v: %v", r, err)
		}
	}
	if strings.Contains(screenText(t, c, "good"), "key") {
		t.Fatalf("keys were typed:\n%s", screenText(t, c, "good"))
	}
	if err := c.Respond(ctx, "good", api.RespondRequest{ID: p.ID, Action: "Yes, always"}); err != nil {
		t.Fatal(err)
	}
	await(t, c, "good", "^chose Yes, always$")
	if err := c.Respond(ctx, "good", api.RespondRequest{Action: "No"}); !errors.Is(err, api.ErrQuestion) {
		t.Fatal(err)
	}

	start("deaf", "deaf")
	if err := c.Respond(ctx, "deaf", api.RespondRequest{Action: "Yes"}); !errors.Is(err, api.ErrQuestion) {
		t.Fatal(err)
	}
	if s := screenText(t, c, "deaf"); !strings.Contains(s, "Remove the folder?") || strings.Contains(s, "chose") {
		t.Fatalf("it was confirmed:\n%s", s)
	}

	start("guard", "guard")
	if err := c.Respond(ctx, "guard", api.RespondRequest{Action: "Yes"}); err != nil {
		t.Error(err)
	}
}

// TestFirstMessage: the message of a program's command line, once it is on the screen
// other than as a draft, lets the program count as idle.
func TestFirstMessage(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	rule := strings.Repeat("─", api.DefaultCols-1)
	for name, p := range map[string]struct{ ready, draft, taken string }{
		"ready prefix": {"> ", "footer\n> [town] a 12:34", "[town] a 12:34\nfooter\n> "},
		"two rules":    {"", rule + "\n[town] a 12:34\n" + rule + "\nfooter", "[town] a 12:34\nok\n" + rule + "\n\n" + rule + "\nfooter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := strings.ReplaceAll(name, " ", "-")
			_, err := c.Create(t.Context(), api.CreateRequest{
				Name: session, Command: `stty -echo; printf '%s' "$DRAFT"; read x; clear; printf '%s' "$TAKEN"; exec cat`,
				Env:         append([]string{"DRAFT=" + p.draft, "TAKEN=" + p.taken}, testEnv...),
				ReadyPrefix: p.ready, FirstMessage: "[town] a 12:34\nmore",
				StatusRules: []api.StatusRule{{Name: "always", State: "idle", Any: []string{"footer"}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			await(t, c, session, "12:34")
			idle := api.WaitRequest{Conditions: []api.Condition{{Idle: true}}, Timeout: 4 * time.Second}
			if r, err := c.Wait(t.Context(), session, idle); err == nil && r.Met == 0 {
				t.Error("it counts as idle with a draft")
			}
			if err := c.Keys(t.Context(), session, []string{"Enter"}, false); err != nil {
				t.Fatal(err)
			}
			if r, err := c.Wait(t.Context(), session, idle); err != nil || r.Met != 0 {
				t.Errorf("taken: %+v, %v", r, err)
			}
		})
	}
}
