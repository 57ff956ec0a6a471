package runtime

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// unreadable replaces the hash of a probed file that cannot be read. It is not a
// hash, so no content matches it.
const unreadable = "unreadable"

// fixedEnv are the variables that gc sets for every agent. They differ between two
// starts of one config and are not in fingerprints.
var fixedEnv = map[string]bool{
	"GC_SESSION": true, "GC_SESSION_NAME": true, "GC_AGENT": true, "GC_CITY": true, "GC_CITY_NAME": true,
	"GC_CITY_PATH": true, "GC_DIR": true, "GC_TEMPLATE": true, "GC_SESSION_ID": true,
	"GC_RUNTIME_EPOCH": true, "GC_INSTANCE_TOKEN": true, "GC_BIN": true,
	"GC_RIG": true, "GC_RIG_ROOT": true, "GC_CITY_ID": true, "GC_OUTBOX": true,
}

// IsFixedEnv reports whether gc sets the variable for every agent.
func IsFixedEnv(name string) bool { return fixedEnv[name] }

// credentialEnds are the suffixes of variables with credentials of a model service.
var credentialEnds = []string{
	"_API_KEY", "_AUTH_TOKEN", "_ACCESS_TOKEN", "_BEARER_TOKEN", "_OAUTH_TOKEN",
	"_ACCESS_KEY_ID", "_SECRET_ACCESS_KEY", "_SESSION_TOKEN",
}

// IsServingCredential reports whether a variable holds a credential of a model
// service. With Config.Upstream set such variables are not in fingerprints:
// rotating a key restarts nothing.
func IsServingCredential(name string) bool {
	return slices.ContainsFunc(credentialEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

// CoreHash identifies what a session was started with: Command, Env without gc's
// own variables and serving credentials, FingerprintExtra, CopyFiles, and if set
// Upstream, MCPServers and ACP.
//
// It reads no file: the content of a probed entry is its ContentHash.
func CoreHash(cfg Config) string {
	f := newFingerprint("core")
	f.text("command", cfg.Command)
	f.provision(cfg)
	f.launch(cfg)
	return f.sum()
}

// LaunchHash covers what requires only a restart of the agent process.
func LaunchHash(cfg Config) string {
	f := newFingerprint("launch")
	f.text("command", cfg.Command)
	f.launch(cfg)
	return f.sum()
}

// ProvisionHash covers what requires a new box: the core without the launch half.
func ProvisionHash(cfg Config) string {
	f := newFingerprint("provision")
	f.provision(cfg)
	return f.sum()
}

// LiveHash covers SessionLive: if nothing else changed, RunLive applies it.
func LiveHash(cfg Config) string {
	f := newFingerprint("live")
	f.list("session_live", cfg.SessionLive)
	return f.sum()
}

// fingerprint hashes a canonical encoding: every name, count and value has its
// length in front, so different inputs give different bytes.
type fingerprint struct{ h hash.Hash }

func newFingerprint(kind string) fingerprint {
	f := fingerprint{sha256.New()}
	f.bytes("gc fingerprint 1")
	f.bytes(kind)
	return f
}

func (f fingerprint) bytes(s string) {
	f.count(len(s))
	io.WriteString(f.h, s) // a hash never fails
}

func (f fingerprint) count(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	f.h.Write(b[:])
}

func (f fingerprint) text(name, value string) {
	f.bytes(name)
	f.bytes(value)
}

func (f fingerprint) list(name string, values []string) {
	f.bytes(name)
	f.count(len(values))
	for _, v := range values {
		f.bytes(v)
	}
}

func (f fingerprint) provision(cfg Config) {
	env := maps.Clone(cfg.Env)
	maps.DeleteFunc(env, func(name, _ string) bool {
		return IsFixedEnv(name) || cfg.Upstream != "" && IsServingCredential(name)
	})
	f.bytes("env")
	f.count(len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		f.text(name, env[name])
	}
	f.list("extra", cfg.FingerprintExtra)
	f.bytes("copy_files")
	f.count(len(cfg.CopyFiles))
	for _, c := range cfg.CopyFiles {
		if !c.Probed {
			f.bytes("configured")
			f.text(c.Src, c.RelDst)
			continue
		}
		content := c.ContentHash
		if content == "" {
			content = unreadable
		}
		f.bytes("probed")
		f.text(c.RelDst, content)
	}
}

func (f fingerprint) sum() string { return hex.EncodeToString(f.h.Sum(nil)) }

// skippedDirs and skippedFiles are leftovers of programs; they are not content.
var (
	skippedDirs  = []string{"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"}
	skippedFiles = []string{"*.pyc", "*.pyo", ".*.swp", ".*.swx", "*~"}
)

// HashPathContent returns the SHA-256 of a file, or of a directory's sorted
// relative paths and contents, in hex. Caches and editors' leftovers are skipped;
// a link inside the directory counts as its target's name. It returns "" on any
// read error.
func HashPathContent(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	f := fingerprint{sha256.New()}
	if !info.IsDir() {
		if err := copyInto(f.h, path); err != nil {
			return ""
		}
		return f.sum()
	}
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	err = filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != root && slices.Contains(skippedDirs, d.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if skippedFile(d.Name()) {
			return nil
		}
		return f.file(root, p, d)
	})
	if err != nil {
		return ""
	}
	return f.sum()
}

func skippedFile(name string) bool {
	return slices.ContainsFunc(skippedFiles, func(pattern string) bool {
		ok, _ := filepath.Match(pattern, name) // the patterns are constant and valid
		return ok
	})
}

// file adds one entry of a directory. The content is added as its hash, which has a
// fixed length.
func (f fingerprint) file(root, p string, d fs.DirEntry) error {
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return err
	}
	content := sha256.New()
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(p)
		if err != nil {
			return err
		}
		io.WriteString(content, "link:"+target)
	case d.Type().IsRegular():
		if err := copyInto(content, p); err != nil {
			return err
		}
	}
	f.bytes(filepath.ToSlash(rel))
	f.bytes(string(content.Sum(nil)))
	return nil
}

func copyInto(w io.Writer, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	_, err = io.Copy(w, in)
	return err
}
