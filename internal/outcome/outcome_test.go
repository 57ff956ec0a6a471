package outcome

import "testing"

func TestTextsOfAnExit(t *testing.T) {
	for _, tt := range []struct {
		exit         *Exit
		status, text string
	}{
		{&Exit{Code: 3, Reason: Exited}, "exit status 3", "exit status 3"},
		{&Exit{Code: 0}, "exit status 0", "exit status 0"},
		{&Exit{Code: 137, Signal: "SIGKILL", Reason: Killed}, "SIGKILL", "SIGKILL (killed)"},
		{&Exit{Code: -1, Reason: Unknown}, "exit status unknown", "exit status unknown (unknown)"},
		{&Exit{Code: 137, Signal: "SIGKILL", Reason: OOMKilled}, "SIGKILL (OOMKilled)", "SIGKILL (OOMKilled)"},
		{&Exit{Code: -1, Reason: "Evicted: full", Disrupted: true}, "exit status unknown (Evicted: full)", "exit status unknown (Evicted: full)"},
		{&Exit{Code: 143, Signal: "SIGTERM", Reason: Stopped, Disrupted: true}, "SIGTERM", "SIGTERM (stopped)"},
		{&Exit{Code: -1, Reason: Rebooted}, "ended by a reboot", "ended by a reboot"},
		{&Exit{Code: 127, Reason: NotFound}, "exit status 127", "exit status 127 (command not found)"},
	} {
		if got := tt.exit.Status(); got != tt.status {
			t.Errorf("%+v: status %q, want %q", tt.exit, got, tt.status)
		}
		if got := tt.exit.Text(); got != tt.text {
			t.Errorf("%+v: text %q, want %q", tt.exit, got, tt.text)
		}
	}
	if got := (*Exit)(nil).Status(); got != "exit status unknown" {
		t.Errorf("nil: status %q", got)
	}
}
