//go:build linux && k8s && e2e

package podspec

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"gascity.dev/gc/internal/outcome"
	"gascity.dev/gc/internal/pod"
	"gascity.dev/gc/internal/proctree"
	"gascity.dev/gc/internal/testenv/k8snode"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
	"gascity.dev/gc/mux/many"
	"gascity.dev/gc/runtime/k8s/internal/names"
	"gascity.dev/gc/runtime/k8s/settings"
)

const (
	namespace = "restricted"
	boxImage  = "gc.local/box:1" // a shell, and no gc
	gcImage   = "gc.local/gc:1"  // nothing but gc
	city      = "/far/city"
	waitFor   = 2 * time.Minute
)

// TestPodRun runs gc as the first process of pods on a real node, in a namespace with Pod
// Security "restricted".
func TestPodRun(t *testing.T) {
	n, ctx := k8snode.Run(t, 30*time.Minute) // with the first build
	c := &cluster{n}
	c.prepare(ctx, t)
	for _, tt := range []struct {
		name string
		run  func(context.Context, *testing.T, *cluster)
	}{
		{"Statuses", statuses}, {"NoSession", noSession}, {"OnlyGC", onlyGC}, {"OutOfMemory", outOfMemory},
		{"FullDisk", fullDisk}, {"Deleted", deleted}, {"Killed", killed}, {"Orphans", orphans}, {"Outbox", outbox},
	} {
		t.Run(tt.name, func(t *testing.T) { tt.run(ctx, t, c) })
	}
}

type cluster struct{ *k8snode.Node }

type object = map[string]any

// prepare makes the images and the namespace.
func (c *cluster) prepare(ctx context.Context, t *testing.T) {
	t.Helper()
	gc := filepath.Join(t.TempDir(), "gc")
	build := exec.CommandContext(ctx, "go", "build", "-o", gc, "gascity.dev/gc/cmd/gc")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	archive := filepath.Join(t.TempDir(), "gc.tar")
	if out, err := exec.CommandContext(ctx, gc, "image", "build", "--tag", gcImage, "--output", archive).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := c.ImportFile(ctx, archive); err != nil {
		t.Fatal(err)
	}
	box, err := k8snode.Busybox(ctx, boxImage)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Import(ctx, box); err != nil {
		t.Fatal(err)
	}
	if err := c.Namespace(ctx, namespace, k8snode.Restricted); err != nil {
		t.Fatal(err)
	}
}

// running is a pod whose first process is gc pod-run.
type running struct {
	t *testing.T
	c *cluster
	*corev1.Pod
	mux *client.Client
}

// how a pod differs from others.
type how struct {
	image   string
	memory  string
	overlay string
	args    []string
}

// start makes a pod and connects to its multiplexer.
func (c *cluster) start(ctx context.Context, t *testing.T, session string, h how) *running {
	t.Helper()
	r := c.create(ctx, t, session, h)
	r.await(ctx, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning })
	r.connect(ctx)
	return r
}

func (c *cluster) create(ctx context.Context, t *testing.T, session string, h how) *running {
	t.Helper()
	s := settings.Settings{Namespace: namespace, Image: boxImage}.Resolve(func(string) string { return "" })
	s.Requests["cpu"], s.Requests["memory"] = "10m", "16Mi"
	if h.image != "" {
		s.Image = h.image
	}
	if h.memory != "" {
		s.Limits["memory"] = h.memory
	}
	pod, err := Build(Spec{
		Session: names.Session{City: "c1", Name: session, Incarnation: "i1"}, Settings: s, GCImage: gcImage,
		Args: append([]string{"pod-run", "--session", session, "--termination", "/dev/termination-log"}, h.args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	if h.overlay != "" {
		if pod, err = Overlay(pod, []byte(h.overlay)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Call(ctx, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", pod, nil); err != nil {
		t.Fatal(err)
	}
	return &running{t: t, c: c, Pod: pod}
}

// await returns the pod as it is when it is as wanted, or deleted.
func (r *running) await(ctx context.Context, done func(*corev1.Pod) bool) (last *corev1.Pod) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	err := k8snode.Watch(ctx, r.c.Node, "/api/v1/namespaces/"+namespace+"/pods?fieldSelector=metadata.name="+r.Name, func(change string, p corev1.Pod) bool {
		last = &p
		return change == "DELETED" || done(&p)
	})
	if err != nil {
		r.t.Fatalf("%v; the pod: %+v", err, last.Status)
	}
	return last
}

// stream is a command in the pod as a stream.
type stream struct {
	io.Reader
	io.WriteCloser
}

// dial opens a stream to the multiplexer, as a controller does.
func (r *running) dial(ctx context.Context) (*many.Session, func()) {
	r.t.Helper()
	cmd := r.c.Kubectl(ctx, "exec", "--namespace", namespace, "--stdin", "--container", Container, r.Name, "--", Program, "mux", "dial", "--many")
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	s, err := many.Open(ctx, stream{out, in}, many.Hello{}, many.Options{})
	if err != nil {
		r.t.Fatalf("%v: %s", err, &stderr)
	}
	return s, func() {
		s.Close()
		_ = cmd.Wait() // with the status of a closed stream
	}
}

func (r *running) connect(ctx context.Context) {
	r.t.Helper()
	s, done := r.dial(ctx)
	r.t.Cleanup(done)
	r.mux = client.NewShared(func(ctx context.Context) (net.Conn, error) { return s.Dial(ctx, "mux", object{"start": false}) })
	r.t.Cleanup(func() { r.mux.Close() })
}

// run makes the session.
func (r *running) run(ctx context.Context, argv ...string) api.SessionInfo {
	r.t.Helper()
	info, err := r.mux.Create(ctx, api.CreateRequest{
		Name: r.Annotations[names.AnnotationSession], Argv: argv, WorkDir: Work,
		Env: []string{"PATH=/bin", "HOME=" + Home, "GC_CITY_PATH=" + city, "GC_OUTBOX=" + city + "@7", "GC_AGENT=coder", "GC_INSTANCE_TOKEN=secret"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return info
}

// shows waits until the session shows a text.
func (r *running) shows(ctx context.Context, id, text string) {
	r.t.Helper()
	w, err := r.mux.Wait(ctx, id, api.WaitRequest{Conditions: []api.Condition{{Text: text}}, Timeout: waitFor})
	if err != nil || w.Met != 0 {
		r.t.Fatalf("%q is not shown: %+v, %v", text, w, err)
	}
}

// ends returns what the cluster and the pod say about the end.
func (r *running) ends(ctx context.Context) (*corev1.ContainerStateTerminated, *pod.Message) {
	r.t.Helper()
	var state *corev1.ContainerStateTerminated
	r.await(ctx, func(p *corev1.Pod) bool {
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Terminated != nil {
				state = s.State.Terminated
			}
		}
		return state != nil
	})
	if state == nil {
		r.t.Fatal("the pod was deleted, and its end was not seen")
	}
	m, err := pod.Parse(state.Message)
	r.t.Logf("%s: exit status %d, %s: %s", r.Name, state.ExitCode, state.Reason, state.Message)
	if err != nil {
		r.t.Fatalf("%v: %q (%s, exit status %d)", err, state.Message, state.Reason, state.ExitCode)
	}
	return state, m
}

// log returns the container's log.
func (r *running) log(ctx context.Context) string {
	r.t.Helper()
	out, err := r.c.Kubectl(ctx, "logs", "--namespace", namespace, "--container", Container, r.Name).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// statuses: the container ends with the status of the session, which may be made after a
// kill, and shows its last screen.
func statuses(ctx context.Context, t *testing.T, c *cluster) {
	for script, want := range map[string]int32{
		"echo well; exit 0":                 0,
		"id -u; touch $HOME/f; pwd; exit 7": 7,
		"echo on; kill -KILL $$":            137,
		"exec /none":                        127,
	} {
		r := c.start(ctx, t, fmt.Sprint("status-", want), how{})
		r.run(ctx, "/bin/sh", "-c", script)
		state, m := r.ends(ctx)
		if state.ExitCode != want || m.Exit == nil || m.Exit.Code != int(want) || m.Error != "" || m.OOMKills != 0 {
			t.Errorf("%s: %+v, %+v", script, state, m)
		}
		if got := r.log(ctx); got != m.Text() {
			t.Errorf("%s: log %q, message %q", script, got, m.Text())
		}
		if want == 7 && m.Text() != "1000\n/workspace\n" {
			t.Errorf("%q", m.Text())
		}
	}
	r := c.start(ctx, t, "again", how{})
	first := r.run(ctx, "/bin/sleep", "1000")
	if err := r.mux.Kill(ctx, first.ID, 0); err != nil {
		t.Fatal(err)
	}
	r.run(ctx, "/bin/sh", "-c", "echo second; exit 5")
	if state, m := r.ends(ctx); state.ExitCode != 5 || m.Text() != "second\n" {
		t.Errorf("after a relaunch: %+v", state)
	}
}

func noSession(ctx context.Context, t *testing.T, c *cluster) {
	r := c.create(ctx, t, "none", how{args: []string{"--wait", "1s"}})
	if state, m := r.ends(ctx); state.ExitCode != 124 || m.Exit != nil || !strings.Contains(m.Error, "no session was made") {
		t.Errorf("%+v", state)
	}
}

// onlyGC: an image with nothing but gc, and a root that cannot be written to.
func onlyGC(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "only-gc", how{image: gcImage, overlay: `
spec: {containers: [{name: agent, securityContext: {readOnlyRootFilesystem: true}}]}`})
	s := r.run(ctx, Program, "mux", "dial", "--many")
	r.shows(ctx, s.ID, "gc-many/1")
	if err := r.mux.Keys(ctx, s.ID, []string{"C-c"}, false); err != nil {
		t.Fatal(err)
	}
	state, m := r.ends(ctx)
	if state.ExitCode != 130 || m.Exit == nil || m.Exit.Signal != "SIGINT" || !strings.HasPrefix(m.Text(), "gc-many/1") {
		t.Errorf("%+v, exit %+v", state, m.Exit)
	}
}

// outOfMemory: the cluster says it, or, where one process dies of it, the message.
func outOfMemory(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "hungry", how{memory: "128Mi"})
	s := r.run(ctx, "/bin/sh", "-c", "echo on; read x; exec tail /dev/zero")
	r.shows(ctx, s.ID, "on")
	r.awaitSeen(ctx)
	if err := r.mux.Keys(ctx, s.ID, []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	state, m := r.ends(ctx)
	if state.ExitCode != 137 || !strings.HasPrefix(m.Text(), "on\n") {
		t.Errorf("%+v", state)
	}
	if m.Exit != nil && (m.Exit.Reason != pod.OOMKilled || m.OOMKills < 1) || m.Exit == nil && state.Reason != pod.OOMKilled {
		t.Errorf("%s, exit %+v, %d killed", state.Reason, m.Exit, m.OOMKills)
	}
}

// awaitSeen waits until the termination message has the screen. All of the pod may be
// killed at once.
func (r *running) awaitSeen(ctx context.Context) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	for {
		out, err := r.c.Kubectl(ctx, "exec", "--namespace", namespace, "--container", Container, r.Name, "--", "cat", "/dev/termination-log").CombinedOutput()
		if err == nil && strings.Contains(string(out), `"lines"`) {
			return
		}
		if ctx.Err() != nil {
			r.t.Fatalf("%v: %s", err, out)
		}
	}
}

// fullDisk: the volume with the home directory, where the multiplexer keeps its state.
func fullDisk(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "full", how{overlay: `
spec: {volumes: [{name: home, emptyDir: {medium: Memory, sizeLimit: 16Mi}}]}`})
	r.run(ctx, "/bin/sh", "-c", "cat /dev/zero >$HOME/all; echo full; seq 100000; exit 3")
	state, m := r.ends(ctx)
	if state.ExitCode != 3 || m.Exit == nil || m.Exit.Code != 3 || !strings.HasSuffix(m.Text(), "99999\n100000\n") {
		t.Errorf("%+v", state)
	}
}

// deleted: the session is stopped, and its last words and status are known.
func deleted(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "deleted", how{})
	s := r.run(ctx, "/bin/sh", "-c", "trap 'echo bye; exit 3' TERM; echo on; while :; do sleep 0.1; done")
	r.shows(ctx, s.ID, "on")
	begun := time.Now()
	if err := c.Call(ctx, http.MethodDelete, "/api/v1/namespaces/"+namespace+"/pods/"+r.Name, nil, nil); err != nil {
		t.Fatal(err)
	}
	state, m := r.ends(ctx)
	if state.ExitCode != 3 || m.Exit == nil || m.Exit.Reason != outcome.Stopped || !strings.HasSuffix(m.Text(), "bye\n") {
		t.Errorf("%+v, exit %+v", state, m.Exit)
	}
	if took := time.Since(begun); took > graceSeconds*time.Second {
		t.Errorf("it took %v", took)
	}
}

// killed: the session survives the server and the keeper, here with the real first process.
func killed(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "killed", how{})
	s := r.run(ctx, "/bin/sh", "-c", "echo on; read x; exit 5")
	r.shows(ctx, s.ID, "on")
	status, err := r.mux.Status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	r.kubectlExec(ctx, "kill", "-KILL", fmt.Sprint(status.Keeper.PID))
	for now := status; now.Keeper.PID == status.Keeper.PID || now.Keeper.PID == 0; {
		if now, err = r.mux.Status(ctx); err != nil {
			t.Fatal(err)
		}
	}
	r.kubectlExec(ctx, "kill", "-KILL", fmt.Sprint(status.Server.PID))
	r.shows(ctx, s.ID, "on")
	if err := r.mux.Keys(ctx, s.ID, []string{"Enter"}, false); err != nil {
		t.Fatal(err)
	}
	if state, m := r.ends(ctx); state.ExitCode != 5 || m.Exit.Reason != outcome.Exited {
		t.Errorf("%+v, exit %+v", state, m.Exit)
	}
}

func (r *running) kubectlExec(ctx context.Context, argv ...string) {
	r.t.Helper()
	args := append([]string{"exec", "--namespace", namespace, "--container", Container, r.Name, "--"}, argv...)
	if out, err := r.c.Kubectl(ctx, args...).CombinedOutput(); err != nil {
		r.t.Fatalf("%v: %s", err, out)
	}
}

// orphans: what an exec leaves behind is given to the first process, which collects it; and
// what serves a controller ends with its stream.
func orphans(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "orphans", how{})
	s := r.run(ctx, "/bin/sh", "-c", "echo on; read x")
	r.shows(ctx, s.ID, "on")
	r.kubectlExec(ctx, "sh", "-c", "(sleep 0.01 &) >/dev/null 2>&1 </dev/null")
	more, done := r.dial(ctx)
	conn, err := more.Dial(ctx, "run", object{"line": "sleep 12321"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	awaitProcesses(t, "sleep 12321", true)
	done()
	awaitProcesses(t, "sleep 12321", false)
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	for zombies := true; zombies; {
		out, err := c.Kubectl(ctx, "exec", "--namespace", namespace, "--container", Container, r.Name, "--", "ps", "-o", "pid,ppid,stat,args").CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		dials := strings.Count(string(out), "mux dial --many")
		zombies = strings.Contains(string(out), " Z") || dials != 1
		if zombies && ctx.Err() != nil {
			t.Fatalf("%d streams are served: %s", dials, out)
		}
	}
}

// outbox: what the agent's commands say to the city is there after the agent's end, and the
// pod ends once the city has taken it.
func outbox(ctx context.Context, t *testing.T, c *cluster) {
	r := c.start(ctx, t, "outbox", how{})
	s := r.run(ctx, "/bin/sh", "-ec", "/gc/gc runtime drain-ack; /gc/gc nudge boss done; /gc/gc mail send boss text; /gc/gc peek boss")
	r.shows(ctx, s.ID, "^hint: run it where the city is")
	w, err := r.mux.Wait(ctx, s.ID, api.WaitRequest{Conditions: []api.Condition{{Exit: true}}, Timeout: waitFor})
	if err != nil || w.Exit == nil || w.Exit.Code != 5 {
		t.Fatalf("%+v, %v", w, err)
	}
	list, err := r.mux.Outbox(ctx, city+"@7", 0, 0)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d messages, %v", len(list), err)
	}
	if p := r.await(ctx, func(*corev1.Pod) bool { return true }); p.Status.Phase != corev1.PodRunning {
		t.Errorf("before they were taken: %s", p.Status.Phase)
	}
	for _, e := range list {
		if err := r.mux.TakeFromOutbox(ctx, e.City, e.ID); err != nil {
			t.Fatal(err)
		}
	}
	if state, m := r.ends(ctx); state.ExitCode != 5 || m.Undelivered != 0 {
		t.Errorf("%+v", state)
	}
}

// awaitProcesses waits until a command runs on this machine, containers included, or not.
func awaitProcesses(t *testing.T, line string, want bool) {
	t.Helper()
	for limit := time.Now().Add(waitFor); ; {
		all, err := proctree.Table()
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, p := range all {
			args, _ := proctree.Cmdline(p.PID) // it may have ended
			found = found || strings.Join(args, " ") == line
		}
		if found == want {
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("%s runs: %v", line, found)
		}
	}
}
