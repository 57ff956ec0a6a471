package far

import (
	"context"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"gascity.dev/gc/internal/clock"
	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/client"
)

// factsLimit bounds how long the mux may take to be described.
const factsLimit = 5 * time.Second

// facts are what needs no question.
func (s *Server) facts() Facts {
	return Facts{Version: s.Version, Features: Kinds, OS: goruntime.GOOS, Arch: goruntime.GOARCH}
}

// Facts describes this machine. It never fails: what cannot be found out is marked.
func (s *Server) Facts(ctx context.Context) Facts {
	f := s.facts()
	f.Hostname, _ = os.Hostname() // "" if unknown
	f.UID = os.Getuid()
	if u, err := user.LookupId(strconv.Itoa(f.UID)); err == nil {
		f.User = u.Username
	}
	f.Home, _ = s.resolve("") // "" if unknown
	f.Boot = clock.Boot()
	f.StateDir, f.FreeBytes = s.Paths.Dir, free(s.Paths.Dir)
	f.PTYsUsed, f.PTYsMax = ptys()
	s.describeMux(ctx, &f)
	f.Time = time.Now() // last: what took time is over
	return f
}

func (s *Server) describeMux(ctx context.Context, f *Facts) {
	ctx, cancel := context.WithTimeout(ctx, factsLimit)
	defer cancel()
	c, err := client.Dial(ctx, s.Paths)
	if err == nil {
		defer c.Close()
		var status api.ServerStatus
		if status, err = c.Status(ctx); err == nil {
			f.MuxRunning, f.MuxVersion, f.MuxSessions = true, status.Version, status.Sessions
		}
	}
	if err != nil && !errors.Is(err, api.ErrNoServer) {
		f.MuxError = refusal(err).Text
	}
}

// free returns the free bytes of the file system that holds, or will hold, the directory.
func free(dir string) int64 {
	var fs unix.Statfs_t
	for {
		err := unix.Statfs(dir, &fs)
		if err == nil {
			return int64(fs.Bavail) * int64(fs.Bsize)
		}
		up := filepath.Dir(dir)
		if !errors.Is(err, unix.ENOENT) || up == dir {
			return -1
		}
		dir = up
	}
}
