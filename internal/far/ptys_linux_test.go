package far

import "testing"

func TestPTYLimit(t *testing.T) {
	const (
		root  = "26 24 0:24 / /dev/pts rw,relatime - devpts devpts rw,mode=600,ptmxmode=000\n"
		own   = "29 26 0:26 / /dev/pts rw,relatime shared:3 - devpts devpts rw,mode=620,ptmxmode=666,max=1024\n"
		other = "30 26 0:27 / /mnt/pts rw,relatime - devpts devpts rw,max=3\n"
	)
	for mounts, want := range map[string]int{"": -1, root: -1, own: 1024, root + own: 1024, own + root: -1, own + other: 1024, "short - \n": -1} {
		if got := ptyLimit(mounts); got != want {
			t.Errorf("%q: %d, want %d", mounts, got, want)
		}
	}
}
