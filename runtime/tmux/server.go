package tmux

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"gascity.dev/gc/internal/clock"
)

// The server starts with the first session and exits with the last. tmux does that by
// itself (exit-empty); a server that gc killed could be in use by another process. A
// session whose program has ended counts, because its last screen can be read. So do
// connections, by the session that they share, the holder.
//
// Any start of a session may start the server, and so may a person who attaches by
// hand; so the settings are in a file that every command names and that a server
// reads first.

// holder is the session that connections attach to; its program only waits. Session
// names of ours never hold "+".
const holder = "+gc"

// settings are the server's options. An older tmux skips those that it does not know
// (-q).
var settings = [...][]string{
	{"set-option", "-qs", "exit-empty", "on"},
	{"set-option", "-qs", "escape-time", "20"},
	{"set-option", "-qg", "default-terminal", "screen-256color"},
	{"set-option", "-qg", "mouse", "off"},
	{"set-option", "-qg", "update-environment", ""},
	{"set-option", "-qg", "prefix", "C-b"},
	// Otherwise two keys within a millisecond are a paste and do not detach.
	{"set-option", "-qg", "assume-paste-time", "0"},
	{"set-option", "-qg", "status-interval", "0"},
	{"set-option", "-qg", "status-left", " #{@gc_city} #{@gc_agent} "},
	{"set-option", "-qg", "status-left-length", "120"},
	{"set-option", "-qg", "status-right", ""},
	{"set-option", "-qg", "status-style", "default"},
	{"set-option", "-qg", "window-status-format", ""},
	{"set-option", "-qg", "window-status-current-format", ""},
	{"set-option", "-qg", "destroy-unattached", "off"},
	{"set-option", "-qwg", "remain-on-exit", "on"},
	{"set-option", "-qwg", "remain-on-exit-format", ""},
	{"set-option", "-qwg", "monitor-activity", "off"},
	{"set-option", "-qwg", "monitor-bell", "off"},
	{"set-option", "-qwg", "allow-rename", "off"},
	{"set-option", "-qwg", "automatic-rename", "off"},
	{"set-option", "-qwg", "aggressive-resize", "off"},
	// With "latest" a new session gets the size of whoever is attached to another
	// one. 3.3 crashes with "manual".
	{"set-option", "-qwg", "window-size", "largest"},
	{"unbind-key", "-a", "-T", "root"},
	{"unbind-key", "-a", "-T", "prefix"},
	{"bind-key", "-T", "prefix", "d", "detach-client"},
	{"bind-key", "-T", "prefix", "C-b", "send-prefix"},
}

// hook ends the holder with the last connection, however that ends. 3.3 crashes with
// destroy-unattached.
func hook() []string {
	return []string{"set-hook", "-g", "client-detached", quoteLine(ifSession(holder, "#{==:#{session_attached},0}", "kill-session"))}
}

func (p *Provider) settingsFile() string { return p.o.Socket + ".conf" }

// writeSettings writes the settings where a starting server finds them.
func (p *Provider) writeSettings() error {
	var b strings.Builder
	for _, s := range append(settings[:], hook()) {
		b.WriteString(quoteLine(s) + "\n")
	}
	file := p.settingsFile()
	if old, err := os.ReadFile(file); err == nil && string(old) == b.String() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "settings-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(b.String())
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// ConfigureServer implements runtime.ServerLifecycleProvider. The server itself
// starts with the first session.
func (p *Provider) ConfigureServer(context.Context) error { return p.writeSettings() }

// TeardownServer implements runtime.ServerLifecycleProvider. It removes ended
// sessions that were kept for their last screen; the server exits with them unless
// another process has a connection.
func (p *Provider) TeardownServer(ctx context.Context) error {
	lines, err := p.query(ctx, "list-panes", "-a", "-F", paneFormat)
	if err != nil && !gone(err) {
		return fmt.Errorf("stop tmux: %w", err)
	}
	var ended []pane
	for _, l := range lines {
		v, ours := parsePane(l)
		if ours && !v.dead {
			return nil
		}
		if ours {
			ended = append(ended, v)
		}
	}
	for _, v := range ended {
		if err := p.end(ctx, v); err != nil {
			return fmt.Errorf("stop tmux: %w", err)
		}
	}
	p.disconnect()
	p.tidy(ctx)
	return nil
}

// tidy removes the socket of a server that exited, because tmux leaves it. Best
// effort: a stale one does no harm.
func (p *Provider) tidy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveLimit)
	defer cancel()
	lines, err := p.query(ctx, "list-sessions", "-F", "#{session_name}")
	if err != nil && !gone(err) || len(lines) > 0 {
		return
	}
	for !errors.Is(p.listening(ctx), errNoServer) { // it exits once nothing queries it
		if clock.Sleep(ctx, echoStep) != nil {
			return
		}
	}
	release, err := p.quiet(ctx) // no server can be started meanwhile
	if err != nil {
		return
	}
	defer release()
	if errors.Is(p.listening(ctx), errNoServer) {
		os.Remove(p.o.Socket)
	}
}
