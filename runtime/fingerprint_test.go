package runtime_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gascity.dev/gc/runtime"
)

func base() runtime.Config {
	return runtime.Config{
		Command: "agent --yolo", Env: map[string]string{"A": "1", "B": "2"}, FingerprintExtra: []string{"x"},
		CopyFiles:   []runtime.CopyFile{{Src: "/s", RelDst: "d"}, {Src: "/p", RelDst: "q", Probed: true, ContentHash: "abc"}},
		SessionLive: []string{"tmux set"},
	}
}

func TestFingerprintMembers(t *testing.T) {
	type in struct{ core, launch, provision, live bool }
	for name, c := range map[string]struct {
		change func(*runtime.Config)
		want   in
	}{
		"command":         {func(c *runtime.Config) { c.Command = "other" }, in{true, true, false, false}},
		"upstream":        {func(c *runtime.Config) { c.Upstream = "eu" }, in{true, true, false, false}},
		"env value":       {func(c *runtime.Config) { c.Env["A"] = "2" }, in{true, false, true, false}},
		"env unset":       {func(c *runtime.Config) { delete(c.Env, "A") }, in{true, false, true, false}},
		"extra":           {func(c *runtime.Config) { c.FingerprintExtra = []string{"y"} }, in{true, false, true, false}},
		"copy dst":        {func(c *runtime.Config) { c.CopyFiles[0].RelDst = "e" }, in{true, false, true, false}},
		"probed content":  {func(c *runtime.Config) { c.CopyFiles[1].ContentHash = "def" }, in{true, false, true, false}},
		"probed lost":     {func(c *runtime.Config) { c.CopyFiles[1].ContentHash = "" }, in{true, false, true, false}},
		"probed source":   {func(c *runtime.Config) { c.CopyFiles[1].Src = "/elsewhere" }, in{}},
		"configured hash": {func(c *runtime.Config) { c.CopyFiles[0].ContentHash = "zzz" }, in{}},
		"session live":    {func(c *runtime.Config) { c.SessionLive = nil }, in{false, false, false, true}},
		"gc's own env":    {func(c *runtime.Config) { c.Env["GC_SESSION_ID"] = "77" }, in{}},
		"inherited env":   {func(c *runtime.Config) { c.BaseEnv = map[string]string{"PATH": "/bin"} }, in{}},
		"work dir":        {func(c *runtime.Config) { c.WorkDir = "/w" }, in{}},
		"prompt":          {func(c *runtime.Config) { c.PromptSuffix = "'hi'" }, in{}},
		"hints": {func(c *runtime.Config) {
			c.ReadyPromptPrefix, c.ReadyDelay, c.ProcessNames, c.Nudge = ">", 9, []string{"n"}, "go"
			c.PreStart, c.SessionSetup, c.OverlayDir = []string{"a"}, []string{"b"}, "/o"
		}, in{}},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := base(), base()
			c.change(&b)
			got := in{
				runtime.CoreHash(a) != runtime.CoreHash(b), runtime.LaunchHash(a) != runtime.LaunchHash(b),
				runtime.ProvisionHash(a) != runtime.ProvisionHash(b), runtime.LiveHash(a) != runtime.LiveHash(b),
			}
			if got != c.want {
				t.Fatalf("changed %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRotatedKeyRestartsNothing(t *testing.T) {
	a, b := base(), base()
	a.Upstream, b.Upstream = "eu", "eu"
	a.Env["SERVICE_API_KEY"], b.Env["SERVICE_API_KEY"] = "old", "new"
	if runtime.CoreHash(a) != runtime.CoreHash(b) {
		t.Fatal("a credential is in the core hash")
	}
	a.Upstream, b.Upstream = "", ""
	if runtime.CoreHash(a) == runtime.CoreHash(b) {
		t.Fatal("without an upstream the variable is the agent's own")
	}
}

func TestHalvesNeverCollide(t *testing.T) {
	c := runtime.Config{}
	seen := map[string]bool{}
	for _, h := range []string{runtime.CoreHash(c), runtime.LaunchHash(c), runtime.ProvisionHash(c), runtime.LiveHash(c)} {
		if seen[h] || len(h) != 64 {
			t.Fatalf("hash %q", h)
		}
		seen[h] = true
	}
}

// Moving a byte from one field or item to the next must change the hash.
func TestNoCollisionByConcatenation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c=]{2,8}`).Draw(t, "text")
		i := rapid.IntRange(0, len(text)).Draw(t, "i")
		j := rapid.IntRange(0, len(text)).Draw(t, "j")
		if i == j {
			return
		}
		split := func(at int) []string { return []string{text[:at], text[at:]} }
		a, b := runtime.Config{FingerprintExtra: split(i)}, runtime.Config{FingerprintExtra: split(j)}
		if runtime.CoreHash(a) == runtime.CoreHash(b) {
			t.Fatalf("%q and %q collide", a.FingerprintExtra, b.FingerprintExtra)
		}
		x := runtime.Config{Env: map[string]string{text[:i]: text[i:]}}
		y := runtime.Config{Env: map[string]string{text[:j]: text[j:]}}
		if runtime.CoreHash(x) == runtime.CoreHash(y) {
			t.Fatalf("%q and %q collide", x.Env, y.Env)
		}
	})
}

func TestHashPathContent(t *testing.T) {
	dir := t.TempDir()
	put := func(p, text string) {
		t.Helper()
		p = filepath.Join(dir, p)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("a", "1")
	put("sub/b", "2")
	first := runtime.HashPathContent(dir)
	if len(first) != 64 {
		t.Fatalf("hash %q", first)
	}
	for _, skipped := range []string{"__pycache__/m", "sub/.mypy_cache/x", "x.pyc", ".a.swp", "sub/b~"} {
		put(skipped, "noise")
	}
	if got := runtime.HashPathContent(dir); got != first {
		t.Error("leftovers count")
	}
	put("sub/b", "3")
	if got := runtime.HashPathContent(dir); got == first {
		t.Error("content does not count")
	}
	put("sub/b", "2")
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "c")); err != nil {
		t.Fatal(err)
	}
	if got := runtime.HashPathContent(dir); got == first {
		t.Error("a name does not count")
	}
	if got := runtime.HashPathContent(filepath.Join(dir, "none")); got != "" {
		t.Errorf("missing path: %q", got)
	}
	// sha256 of "2", so that other tools agree
	if got := runtime.HashPathContent(filepath.Join(dir, "sub/b")); got != "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35" {
		t.Errorf("file hash %q", got)
	}
}

func TestBeacon(t *testing.T) {
	at := time.Date(2026, 3, 1, 15, 4, 5, 0, time.UTC)
	if got := runtime.Beacon("city", "rig/mayor", at, true); got != "[city] rig/mayor . 2026-03-01T15:04:05" {
		t.Errorf("%q", got)
	}
	if got := runtime.Beacon("c", "a", at, false); got != "[c] a . 2026-03-01T15:04:05\n\nRun `gc prime $GC_AGENT` to initialize your context." {
		t.Errorf("%q", got)
	}
}
