// Package gc_test has the rules about imports. The folder list is the
// architecture; these tests enforce it.
package gc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "gascity.dev/gc"

// anything lets a package import every other one.
const anything = "*"

// arrows lists for every package which of our packages it may import. A package
// without a row is an error.
var arrows = map[string][]string{
	// Leaves.
	"vt":                    {"vt/internal/char", "vt/internal/picture"},
	"vt/internal/char":      {},
	"vt/internal/picture":   {},
	"store":                 {},
	"internal/event":        {},
	"internal/testenv":      {},
	"internal/testenv/sshd": {"internal/testenv", "internal/proctree"},
	"internal/clock":        {},
	"internal/alive":        {},
	"internal/fds":          {},
	"internal/sockpath":     {},
	"internal/proctree":     {},
	"internal/staging":      {},
	"internal/shell":        {},
	"internal/carry":        {"internal/spawn"},
	"internal/conversation": {"internal/shell"},
	"internal/spawn":        {},
	"internal/turn":         {},
	"internal/self":         {},
	"internal/environ":      {},
	"internal/nearest":      {},
	"internal/toml":         {"internal/nearest"},
	"internal/acp/rules":    {},
	"internal/config":       {"internal/conversation", "internal/hooks", "runtime/k8s/settings", "internal/acp/rules", "internal/rule", "internal/shell", "internal/environ", "internal/toml", "internal/nearest"},
	"internal/rule":         {"internal/clock"},
	"internal/delivery":     {"internal/clock"},
	"internal/outcome":      {},
	"internal/hooks":        {},
	"internal/trim":         {},
	"internal/mail":         {"internal/delivery"},
	"internal/kept":         {"internal/agent", "runtime"},
	"internal/attention":    {"internal/controller/api", "internal/session", "internal/process", "runtime"},
	"internal/notify":       {"internal/config", "internal/controller/api", "internal/spawn"},

	"internal/config/reference": {"internal/config", "internal/toml"},

	"internal/registry":        {},
	"internal/testenv/k8snode": {"internal/testenv"},

	"mux/keys":               {"internal/nearest"},
	"mux/internal/statedir":  {"mux/api", "internal/sockpath", "mux/internal/sys"},
	"mux/keeper":             {"internal/self", "mux/api", "internal/fds", "mux/internal/statedir", "mux/internal/sys", "internal/trim", "mux/internal/slack", "internal/proctree", "internal/alive"},
	"mux/attach":             {"mux/api", "mux/client", "mux/keys", "vt", "internal/clock", "internal/nearest", "mux/attach/copymode", "mux/attach/menu"},
	"mux/attach/copymode":    {"internal/nearest", "mux/keys", "vt"},
	"mux/attach/menu":        {"mux/keys", "vt"},
	"mux/client":             {"internal/screens", "internal/screens/wire", "mux/api", "internal/sockpath", "mux/many", "mux/keeper", "mux/internal/statedir", "mux/internal/sys", "mux/internal/transport", "internal/alive", "internal/proctree", "internal/process", "internal/clock"},
	"mux/many":               {},
	"mux/journal":            {"mux/api", "vt", "mux/internal/sys"},
	"mux/internal/owned":     {"mux/api"},
	"mux/internal/stuck":     {"internal/proctree"},
	"mux/internal/limits":    {"mux/api", "mux/internal/sys", "internal/proctree"},
	"mux/internal/attached":  {"mux/api", "mux/keys", "mux/journal", "internal/clock", "vt"},
	"mux/internal/endpoint":  {"mux/api", "mux/keeper", "mux/internal/statedir", "mux/internal/sys"},
	"mux/internal/fifo":      {"mux/api"},
	"mux/internal/loop":      {},
	"mux/internal/muxdb":     {"mux/api", "store", "internal/clock"},
	"mux/internal/nudge":     {"mux/api", "mux/keys", "mux/journal", "mux/internal/fifo", "mux/internal/sys", "vt", "internal/rule", "internal/status", "internal/clock"},
	"mux/internal/outbox":    {"mux/api", "mux/internal/endpoint", "store", "internal/clock"},
	"mux/internal/program":   {"mux/api", "mux/keeper", "mux/keys", "mux/internal/limits", "internal/acp/control", "internal/proctree", "internal/shell"},
	"mux/internal/queue":     {"mux/api", "store", "internal/clock"},
	"mux/internal/wait":      {"mux/api", "vt"},
	"mux/internal/told":      {"mux/api", "internal/proctree", "internal/status"},
	"mux/internal/cities":    {"mux/api", "mux/internal/endpoint"},
	"mux/internal/slack":     {},
	"mux/internal/sys":       {"mux/api", "internal/proctree", "internal/clock"},
	"mux/api":                {"mux/keys", "vt", "internal/outcome", "internal/rule", "internal/process", "internal/status", "internal/clock"},
	"mux/internal/transport": {},

	"internal/status":  {"vt", "internal/rule"},
	"internal/link":    {"mux/many", "internal/clock"},
	"internal/far":     {"internal/self", "mux/api", "mux/client", "mux/many", "internal/environ", "internal/proctree", "internal/spawn", "internal/staging", "internal/clock"},
	"internal/image":   {},
	"internal/pod":     {"internal/clock", "internal/outcome", "internal/proctree", "mux/api", "mux/client", "vt"},
	"internal/process": {"store", "internal/delivery", "internal/clock"},
	"mux":              {"mux/keeper", "mux/server"},
	"mux/exec":         {"mux/api", "internal/process", "internal/delivery", "store", "vt", "internal/clock"},
	"mux/server": {
		"mux/exec", "mux/keeper", "mux/journal", "mux/internal/sys", "mux/internal/attached", "mux/internal/endpoint", "mux/internal/fifo", "mux/internal/limits", "mux/internal/loop", "mux/internal/muxdb", "mux/internal/nudge", "mux/internal/outbox", "mux/internal/program", "mux/internal/queue", "mux/internal/owned", "mux/internal/stuck", "mux/internal/cities", "mux/internal/told", "mux/internal/wait", "mux/internal/statedir", "internal/trim", "mux/internal/transport", "mux/api", "mux/keys", "vt", "store", "internal/proctree", "internal/event", "internal/rule",
		"internal/status", "internal/process", "internal/delivery", "internal/clock", "internal/alive", "internal/screens", "internal/screens/wire",
		"internal/acp/control",
	},

	"internal/hosts":         {},
	"internal/hosts/install": {"internal/shell"},

	"internal/acp/wire":         {},
	"internal/acp/protocol":     {},
	"internal/acp/conversation": {"internal/acp/protocol", "internal/shell"},
	"internal/acp/policy":       {"internal/acp/conversation", "internal/acp/rules"},
	"internal/acp/view":         {"internal/acp/conversation", "vt", "mux/keys"},
	"internal/acp/control":      {"internal/sockpath", "internal/clock", "internal/outcome"},
	"internal/acp/transcript":   {"internal/clock"},
	"internal/acp/files":        {},
	"internal/acp/commands":     {"internal/shell"},
	"internal/acp/host":         {"internal/acp/wire", "internal/acp/protocol", "internal/acp/conversation", "internal/acp/policy", "internal/acp/view", "internal/acp/control", "internal/acp/transcript", "internal/acp/files", "internal/acp/commands", "internal/clock", "internal/outcome", "internal/self", "internal/trim"},

	"runtime":             {"internal/environ", "internal/outcome", "internal/rule", "internal/clock"},
	"runtime/driver":      {"runtime", "internal/proctree", "internal/spawn", "internal/staging", "internal/rule", "internal/shell", "internal/clock"},
	"runtime/wrap":        {"runtime", "internal/turn"},
	"runtime/runtimefake": {"runtime"},
	"runtime/runtimetest": {"internal/testenv", "internal/shell", "runtime", "runtime/driver", "runtime/runtimefake"},
	"runtime/router":      {"runtime", "runtime/wrap", "runtime/driver"},
	"runtime/native":      {"runtime", "runtime/driver", "internal/environ", "internal/spawn", "internal/staging", "internal/proctree", "mux/attach", "mux/attach/menu", "mux/client", "mux/api", "mux/keys", "internal/clock"},
	"runtime/tmux":        {"internal/turn", "runtime", "runtime/driver", "internal/proctree", "internal/shell", "internal/clock"},
	"runtime/exec":        {"internal/turn", "runtime", "runtime/driver", "internal/proctree", "internal/shell", "internal/clock"},
	"runtime/exec/check":  {"runtime", "runtime/driver", "internal/shell"},
	"runtime/subprocess":  {"internal/self", "runtime", "runtime/driver", "internal/proctree"},
	"runtime/acp":         {"internal/self", "runtime", "runtime/wrap", "internal/acp/control", "internal/acp/host", "internal/acp/transcript", "internal/shell", "internal/spawn"},

	"runtime/k8s": {"runtime/k8s/internal/diagnose",
		"runtime", "runtime/driver", "runtime/native", "runtime/wrap", "mux/api", "mux/many",
		"internal/clock", "internal/far", "internal/link", "internal/outcome", "internal/pod", "internal/proctree", "internal/spawn", "internal/staging",
		"runtime/k8s/internal/names", "runtime/k8s/internal/pods", "runtime/k8s/internal/podspec", "runtime/k8s/internal/podstate", "runtime/k8s/internal/stream", "runtime/k8s/settings", "internal/acp/transcript", "runtime/acp",
	},
	"runtime/k8s/internal/diagnose": {"internal/clock", "runtime/k8s/internal/names", "runtime/k8s/internal/pods", "runtime/k8s/internal/podspec", "runtime/k8s/internal/podstate", "runtime/k8s/settings"},
	"runtime/k8s/internal/names":    {},
	"runtime/k8s/internal/pods":     {"internal/clock", "runtime", "runtime/k8s/internal/names", "runtime/k8s/internal/podstate"},
	"runtime/k8s/internal/podspec":  {"runtime/k8s/internal/names", "runtime/k8s/settings"},
	"runtime/k8s/internal/podstate": {"internal/outcome", "runtime/k8s/internal/names", "runtime/k8s/internal/podspec"},
	"runtime/k8s/internal/stream":   {},
	"runtime/k8s/settings":          {},

	"internal/agent":   {"runtime", "internal/config", "internal/hooks", "internal/nearest", "internal/shell", "internal/toml", "internal/clock"},
	"internal/trust":   {"runtime", "internal/config", "internal/shell"},
	"internal/session": {"store", "internal/clock", "internal/delivery", "internal/mail", "runtime"},
	"internal/controller": {
		"runtime", "internal/agent", "internal/config", "internal/conversation",
		"internal/session", "internal/mail", "internal/proctree", "internal/process", "internal/delivery", "internal/controller/plan", "internal/controller/api", "internal/controller/junit", "internal/controller/names", "internal/controller/outbox", "internal/controller/query", "internal/attention", "internal/kept", "internal/notify", "internal/clock", "internal/filewatch",
	},
	"internal/controller/outside":  {"runtime", "internal/agent", "internal/config", "internal/controller/api", "internal/kept"},
	"internal/controller/api":      {"runtime", "internal/sockpath", "internal/config", "internal/session", "internal/mail", "internal/alive", "internal/clock"},
	"internal/controller/junit":    {"internal/controller/api"},
	"internal/controller/names":    {"mux/api", "runtime", "internal/agent", "internal/config", "internal/controller/api", "internal/controller/query"},
	"internal/controller/outbox":   {"internal/clock"},
	"internal/controller/query":    {"runtime", "internal/clock", "internal/delivery"},
	"internal/controller/plan":     {"internal/agent", "internal/session", "internal/process"},
	"internal/mcp":                 {anything},
	"internal/web/access":          {},
	"internal/filewatch":           {},
	"cmd/gc":                       {anything},
	"cmd/gc/internal/sessionop":    {"mux", "mux/api", "mux/keys", "runtime", "runtime/driver", "runtime/native", "internal/proctree", "internal/clock"},
	"cmd/gc/internal/away":         {"cmd/gc/internal/cli", "internal/controller/api", "internal/controller/outbox", "mux/api", "mux/client"},
	"cmd/gc/internal/move":         {"internal/carry", "internal/config", "internal/controller/api", "runtime"},
	"cmd/gc/internal/elsewhere":    {"cmd/gc/internal/away", "cmd/gc/internal/backend", "internal/clock", "internal/config", "internal/controller", "internal/controller/outbox", "internal/process", "mux/api", "mux/client"},
	"cmd/gc/internal/attachkeys":   {"internal/config", "mux/attach"},
	"cmd/gc/internal/notices":      {"cmd/gc/internal/display", "internal/config", "internal/controller/api", "runtime"},
	"cmd/gc/internal/reportcmd":    {"cmd/gc/internal/cli", "internal/agent", "internal/clock", "internal/hooks", "internal/status", "mux/api", "mux/client"},
	"cmd/gc/internal/mailcmd":      {"cmd/gc/internal/cli", "cmd/gc/internal/display", "internal/controller/api", "internal/mail"},
	"cmd/gc/internal/follow":       {"cmd/gc/internal/display", "mux/api", "internal/clock"},
	"cmd/gc/internal/acplog":       {"cmd/gc/internal/display", "internal/acp/transcript", "internal/clock"},
	"cmd/gc/internal/display":      {},
	"cmd/gc/internal/host":         {"cmd/gc/internal/cli", "internal/hosts", "internal/shell", "mux/api", "mux/client"},
	"cmd/gc/internal/hostcmd":      {"internal/self", "cmd/gc/internal/cli", "cmd/gc/internal/display", "cmd/gc/internal/host", "cmd/gc/internal/hostcheck", "cmd/gc/internal/report", "internal/controller/outside", "internal/hosts", "internal/hosts/install", "mux/client"},
	"cmd/gc/internal/hostcheck":    {"cmd/gc/internal/cli", "cmd/gc/internal/host", "internal/controller/outside", "internal/far", "internal/hosts", "internal/hosts/install", "internal/shell", "mux/api", "mux/client", "mux/many"},
	"cmd/gc/internal/attentioncmd": {"cmd/gc/internal/cli", "cmd/gc/internal/display", "internal/controller/api"},
	"cmd/gc/internal/citiescmd":    {"cmd/gc/internal/cli", "cmd/gc/internal/display", "internal/config", "internal/controller/api", "internal/controller/names"},
	"cmd/gc/internal/citylog": {
		"cmd/gc/internal/display", "cmd/gc/internal/follow", "cmd/gc/internal/words", "internal/controller/api", "mux/api", "mux/client", "runtime",
	},
	"cmd/gc/internal/doctor": {
		"cmd/gc/internal/display", "internal/config", "internal/controller/outside", "internal/proctree", "internal/shell", "mux/api", "mux/client",
	},
	"cmd/gc/internal/backend": {
		"internal/self", "internal/acp/transcript", "internal/controller/api", "runtime/k8s", "runtime/k8s/settings",
		"cmd/gc/internal/cli", "cmd/gc/internal/host", "cmd/gc/internal/sessionop", "internal/agent", "internal/carry", "internal/config", "internal/far", "internal/link", "internal/proctree", "internal/spawn", "internal/staging", "mux/client", "mux/many", "runtime", "runtime/acp", "runtime/exec", "runtime/native",
		"runtime/k8s", "runtime/k8s/settings", "runtime/router", "runtime/runtimefake", "runtime/subprocess", "runtime/tmux", "runtime/wrap",
	},
	"cmd/gc/internal/background": {
		"cmd/gc/internal/cli", "cmd/gc/internal/display", "cmd/gc/internal/host", "internal/alive", "internal/process",
		"mux/api", "mux/attach", "mux/client", "mux/keys",
	},
	"cmd/gc/internal/muxcmd": {
		"internal/self",
		"cmd/gc/internal/cli", "cmd/gc/internal/display", "cmd/gc/internal/host", "cmd/gc/internal/hostcheck", "cmd/gc/internal/hostcmd", "internal/agent", "internal/controller/api", "internal/controller/names", "internal/far",
		"mux/api", "mux/client", "mux/many", "runtime", "internal/shell",
	},

	"internal/thirdparty":        {},
	"cmd/gc/internal/versioncmd": {"cmd/gc/internal/cli", "internal/thirdparty"},

	"cmd/gc/internal/topics": {"cmd/gc/internal/cli", "internal/config", "internal/config/reference", "internal/nearest"},

	"cmd/gc/internal/configcmd": {"cmd/gc/internal/cli", "internal/config/reference"},

	"cmd/gc/internal/opcmd":    {"cmd/gc/internal/backend", "cmd/gc/internal/cli", "cmd/gc/internal/sessionop", "runtime/exec/check"},
	"cmd/gc/internal/imagecmd": {"cmd/gc/internal/backend", "cmd/gc/internal/cli", "internal/hosts/install", "internal/image", "internal/registry", "internal/self"},
	"cmd/gc/internal/podcmd":   {"cmd/gc/internal/cli", "internal/pod", "internal/proctree", "mux/api"},
	"cmd/gc/internal/report":   {"cmd/gc/internal/cli", "cmd/gc/internal/display", "cmd/gc/internal/words", "internal/controller/api", "internal/controller/outside", "internal/outcome"},
	"cmd/gc/internal/tmuxcmd":  {"cmd/gc/internal/cli", "cmd/gc/internal/host", "internal/tmuxshim", "mux/api"},
	"internal/tmuxshim":        {"internal/tmuxshim/format", "internal/tmuxshim/world", "mux/api", "mux/keys", "vt"},
	"internal/tmuxshim/format": {},
	"internal/tmuxshim/world":  {"internal/tmuxshim/format"},
	"cmd/gc/internal/uicmd":    {"cmd/gc/internal/cli", "cmd/gc/internal/host", "internal/self"},
	"cmd/gc/internal/words":    {"cmd/gc/internal/display", "internal/controller/api", "mux/api", "runtime"},
	"cmd/gc/internal/cli":      {"cmd/gc/internal/display", "internal/agent", "internal/config", "internal/controller/api", "internal/nearest", "internal/trust", "mux/api", "mux/attach", "mux/keys", "runtime"},
	"cmd/gc-mcp":               {"internal/controller/api", "internal/mcp", "mux/client", "mux/api"},

	"cmd/gc-ui":                      {"internal/fleet", "internal/tui", "internal/web", "internal/web/access", "internal/web/metrics", "mux/api", "internal/controller/api", "internal/fleet/ofcity", "internal/fleet/ofmux", "internal/fleet/wire", "internal/far", "internal/link", "mux/client", "mux/many"},
	"internal/web":                   {"internal/filewatch", "internal/fleet", "internal/screens", "internal/web/access", "internal/web/assets"},
	"internal/web/assets":            {},
	"internal/web/metrics":           {"internal/fleet"},
	"internal/screens":               {"vt"},
	"internal/screens/wire":          {"internal/screens"},
	"internal/fleet":                 {"internal/clock", "internal/screens", "vt"},
	"internal/fleet/ofmux":           {"internal/clock", "internal/fleet", "internal/screens", "internal/status", "mux/api", "mux/client", "vt"},
	"internal/fleet/ofcity":          {"internal/clock", "internal/controller/api", "internal/fleet", "internal/screens", "internal/session", "runtime"},
	"internal/fleet/fleetfake":       {"internal/fleet", "internal/screens"},
	"internal/fleet/wire":            {"internal/fleet", "internal/screens", "internal/screens/wire"},
	"internal/fleet/ofprovider":      {"internal/clock", "internal/fleet", "internal/fleet/ofmux", "internal/screens", "mux/client", "runtime", "vt"},
	"cmd/gc/internal/cityfleet":      {"internal/fleet/ofcity", "internal/fleet/ofmux", "internal/fleet/ofprovider", "internal/fleet/wire", "mux/api", "mux/client", "runtime"},
	"internal/tui":                   {"internal/fleet", "internal/screens", "internal/tui/internal/cells", "internal/tui/internal/terminal", "vt"},
	"internal/tui/internal/cells":    {"vt"},
	"internal/tui/internal/terminal": {},
}

// helpers are packages for tests and benchmarks; they may import anything.
var helpers = []string{"internal/acp/acpsh", "test", "mux/internal/persontest"}

// heavy lists packages that cmd/gc must never link: every call pays for
// start-up. Measured starts: prometheus/client_golang alone 3.1 ms, client-go's
// clientset 8.4–9.8 ms, against 1.8 ms for everything that gc links.
var heavy = []string{
	"github.com/prometheus/client_golang",
	"github.com/modelcontextprotocol/go-sdk",
	"charm.land",
	"github.com/charmbracelet",
	"github.com/chromedp",
	"k8s.io",
	"sigs.k8s.io",
	"github.com/google/go-containerregistry",
	"google.golang.org/grpc",
	"google.golang.org/protobuf",
	"go.opentelemetry.io",
	"github.com/spf13/cobra/doc",
	"github.com/spf13/viper",
	"html/template",
	"net/http/pprof",
	"expvar",
	"testing",
	"C",
}

// pkg is the part of `go list -json` used here.
type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
}

// withK8s also lists the files that gc-k8s alone has.
const withK8s = "-tags=k8s"

// list runs `go list -e -json` for one platform.
func list(t *testing.T, goos string, args ...string) []pkg {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Deps,Module"}, args...)...)
	cmd.Env = append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

var platforms = []string{"linux", "darwin"}

func TestImportsFollowTheArrows(t *testing.T) {
	exists := map[string]bool{}
	for _, goos := range platforms {
		for _, p := range list(t, goos, withK8s, "./...") {
			from := rel(p.ImportPath)
			exists[from] = true
			if from == "" || isHelper(from) {
				continue
			}
			allowed, known := arrows[from]
			if !known {
				t.Errorf("%s: package %s is not in the table of arrows", goos, from)
				continue
			}
			for _, imp := range p.Imports {
				to := rel(imp)
				if to == "" || slices.Contains(allowed, anything) && !isHelper(to) {
					continue
				}
				if !slices.Contains(allowed, to) {
					t.Errorf("%s: %s imports %s, which is not in its row of arrows", goos, from, to)
				}
			}
		}
	}
	for from, row := range arrows {
		for _, p := range append(row, from) {
			if p != anything && !exists[p] {
				t.Errorf("the row of %s names %s, which does not exist", from, p)
			}
		}
	}
}

// ends are modules that both ends of a connection import; those to pods end in the cluster.
var ends = map[string][]string{"github.com/coder/websocket": {"internal/fleet/wire", "internal/screens/wire", "internal/web", "mux/client", "mux/internal/attached", "runtime/k8s"}}

// families each count as one package, with what is internal to them.
var families = []string{"cmd/gc", "runtime/k8s", "internal/tui"}

// Each third-party module is known to one package. golang.org/x counts as the
// standard library.
func TestOnePackageKnowsEachModule(t *testing.T) {
	for _, goos := range platforms {
		moduleOf := map[string]string{}
		for _, p := range list(t, goos, withK8s, "-deps", "./...") {
			if p.Module != nil && p.Module.Path != module && !strings.HasPrefix(p.Module.Path, "golang.org/x/") {
				moduleOf[p.ImportPath] = p.Module.Path
			}
		}
		users := map[string][]string{}
		for _, p := range list(t, goos, withK8s, "./...") {
			from := rel(p.ImportPath)
			if from == "" || isHelper(from) {
				continue
			}
			for _, family := range families {
				if strings.HasPrefix(from, family+"/internal/") {
					from = family
				}
			}
			for _, imp := range p.Imports {
				if m := moduleOf[imp]; m != "" && !slices.Contains(users[m], from) {
					users[m] = append(users[m], from)
				}
			}
		}
		for m, pkgs := range users {
			if slices.Sort(pkgs); len(pkgs) > 1 && !slices.Equal(pkgs, ends[m]) {
				t.Errorf("%s: %s is known by %d packages, want one: %s", goos, m, len(pkgs), strings.Join(pkgs, ", "))
			}
		}
	}
}

// gc-k8s, which is cmd/gc with the tag k8s, may link k8s.io; see TestOnePackageKnowsEachModule.
func TestCommandLinksNothingHeavy(t *testing.T) {
	for _, goos := range platforms {
		for _, p := range list(t, goos, "./cmd/gc") {
			for _, dep := range p.Deps {
				for _, h := range heavy {
					if dep == h || strings.HasPrefix(dep, h+"/") {
						t.Errorf("%s: cmd/gc links %s", goos, dep)
					}
				}
			}
		}
	}
}

// The package name runtime means the contract; the standard package is
// goruntime in every file.
func TestStandardRuntimeIsAliased(t *testing.T) {
	eachGoFile(t, func(path string) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Error(err)
			return
		}
		for _, imp := range f.Imports {
			name := ""
			if imp.Name != nil {
				name = imp.Name.Name
			}
			if imp.Path.Value == `"runtime"` && name != "goruntime" {
				t.Errorf(`%s: import the standard runtime as goruntime`, path)
			}
			if name == "goruntime" && imp.Path.Value != `"runtime"` {
				t.Errorf("%s: goruntime is the standard runtime's name", path)
			}
		}
	})
}

// eachGoFile visits every Go file of the module, tests included.
func eachGoFile(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (slices.Contains([]string{"bin", "dist", "testdata"}, d.Name()) || strings.HasPrefix(d.Name(), ".")) {
			return filepath.SkipDir
		}
		if !d.IsDir() && strings.HasSuffix(path, ".go") {
			visit(path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rel returns the path inside the module; "" for its root and for other
// modules.
func rel(importPath string) string {
	if s, ok := strings.CutPrefix(importPath, module+"/"); ok {
		return s
	}
	return ""
}

func isHelper(p string) bool { return within(helpers, p) }

// within reports whether p is one of the packages or below one.
func within(packages []string, p string) bool {
	return slices.ContainsFunc(packages, func(d string) bool { return p == d || strings.HasPrefix(p, d+"/") })
}
