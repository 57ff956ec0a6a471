package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"gascity.dev/gc/internal/acp/acpsh"
	"gascity.dev/gc/internal/testenv"
	"gascity.dev/gc/mux"
)

// rounds is the minimum number of runs behind a figure.
const rounds = 60

// samples are the durations of one measurement.
type samples struct {
	name string
	all  []time.Duration
}

func (s *samples) add(d time.Duration) { s.all = append(s.all, d) }

func (s *samples) min() time.Duration { return slices.Min(s.all) }

func (s *samples) median() time.Duration {
	sorted := slices.Sorted(slices.Values(s.all))
	return sorted[len(sorted)/2]
}

func (s *samples) max() time.Duration { return slices.Max(s.all) }

// table prints samples, and the ratio of each to the first.
func table(b *testing.B, title string, list ...*samples) {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\tmin\tmedian\tmax\t")
	if len(list) > 1 {
		fmt.Fprintf(w, "min ÷ %[1]s\tmedian ÷ %[1]s\t", list[0].name)
	}
	fmt.Fprintln(w)
	for _, s := range list {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t", s.name, ms(s.min()), ms(s.median()), ms(s.max()))
		if len(list) > 1 {
			fmt.Fprintf(w, "%.2f\t%.2f\t", ratio(s.min(), list[0].min()), ratio(s.median(), list[0].median()))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
	b.Logf("%s (%d runs each; %s)\n%s", title, len(list[0].all), machine(), out.String())
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func ms(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d)/1e6) }

// metrics reports values for tools that compare runs.
func metrics(b *testing.B, prefix string, s *samples) {
	b.ReportMetric(float64(s.median())/1e6, prefix+"-median-ms")
	b.ReportMetric(float64(s.min())/1e6, prefix+"-min-ms")
}

// machine describes the machine and its load.
func machine() string {
	cpu := "unknown processor"
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(data), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	load := "?"
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(data), " ")
	}
	return fmt.Sprintf("%d × %s, %s/%s, %s, load %s", goruntime.NumCPU(), cpu, goruntime.GOOS, goruntime.GOARCH, goruntime.Version(), load)
}

// alternate runs each command in turn, count times, and measures from start to
// end.
func alternate(b *testing.B, count int, env []string, names []string, argvs ...[]string) []*samples {
	b.Helper()
	list := make([]*samples, len(argvs))
	for i, name := range names {
		list[i] = &samples{name: name}
	}
	for range count {
		for i, argv := range argvs {
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = env
			start := time.Now()
			err := cmd.Run()
			list[i].add(time.Since(start))
			if err != nil {
				b.Fatalf("%s: %v", strings.Join(argv, " "), err)
			}
		}
	}
	return list
}

var (
	buildOnce sync.Once
	buildDir  string
	buildErr  error
)

// built returns the path of a program of this module, built in this run: gc (or
// GC_E2E_BIN), hello, victim.
func built(b *testing.B, name string) string {
	b.Helper()
	buildOnce.Do(func() { buildDir, buildErr = buildAll() })
	if buildErr != nil {
		b.Fatal(buildErr)
	}
	return filepath.Join(buildDir, name)
}

// buildAll builds the programs and installs them by copying, like any
// installation: the linker writes through a mapping, so its output's pages are
// separate in the page cache, which costs a start of gc 0.6 ms until a reboot.
// And they are copied as by cp(1): a single large write creates huge pages in
// the page cache (ext4 of Linux 6.18), which are mapped whole, so 12 MB of the
// program would count as a daemon's memory.
func buildAll() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "gc-bench-"); err != nil {
		return "", err
	}
	linked := filepath.Join(dir, "linked")
	programs := map[string]string{"hello": filepath.Join(linked, "hello"), "victim": filepath.Join(linked, "victim")}
	pkgs := []string{"./hello", "./victim"}
	if programs["gc"] = os.Getenv("GC_E2E_BIN"); programs["gc"] == "" {
		programs["gc"] = filepath.Join(linked, "gc")
		pkgs = append(pkgs, "gascity.dev/gc/cmd/gc")
	}
	cmd := exec.Command("go", append([]string{"build", "-trimpath", "-tags=nethttpomithttp2", "-ldflags=-s -w", "-o", linked + "/"}, pkgs...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	for name, from := range programs {
		if err := install(filepath.Join(dir, name), from); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// install copies a program, with copy_file_range(2) if available.
func install(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if cerr := out.Close(); err == nil {
		err = cerr
	}
	return err
}

// TestMain lets the test binary be the keeper and the server, too.
func TestMain(m *testing.M) {
	if mux.IsDaemon(os.Args) {
		testenv.Exit(mux.RunDaemon(os.Args))
	}
	if acpsh.Called() {
		os.Exit(acpsh.Main(os.Args))
	}
	if os.Getenv(burstVar) != "" {
		runBurst()
		return
	}
	code := m.Run()
	fmt.Print(verdicts())
	if buildDir != "" {
		_ = os.RemoveAll(buildDir)
	}
	os.Exit(code)
}
