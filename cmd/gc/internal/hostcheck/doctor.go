package hostcheck

import (
	"context"
	"os"
	"slices"
	"time"

	"gascity.dev/gc/internal/controller/outside"
	"gascity.dev/gc/internal/hosts"
)

// doctorLimit is how long gc doctor waits for the machines.
const doctorLimit = 5 * time.Second

// Doctor adds what it finds about the registered machines and those of a city, which
// are URLs: one line for each that is well. A machine that is not reached is a warning:
// it may be switched off.
func Doctor(ctx context.Context, found *outside.Findings, version string, city []string) {
	var list []hosts.Host
	if r, err := hosts.Default(os.Getenv); err == nil { // else the mux reports it
		if list, err = r.List(); err != nil {
			found.Fail("hosts", "correct the file, or move it away and add the hosts again", "%v", err)
			return
		}
	}
	var names []string
	for _, h := range list {
		names = append(names, h.Name)
		city = slices.DeleteFunc(city, func(url string) bool { return url == h.URL })
	}
	names = append(names, city...)
	reports, err := All(ctx, version, names, doctorLimit)
	if err != nil {
		found.Fail("hosts", "gc host check", "%v", err)
		return
	}
	for _, one := range reports {
		summarize(found, one)
	}
}

func summarize(found *outside.Findings, r *Report) {
	about, well := "host "+r.Name, true
	for _, f := range r.Findings {
		if f.Level == outside.LevelOK {
			continue
		}
		well = false
		if f.About = about; !r.Reached {
			f.Level = outside.LevelWarn
		}
		found.List = append(found.List, f)
	}
	if well && r.Facts != nil {
		found.OK(about, "reached: gc %s on %s/%s", r.Facts.Version, r.Facts.OS, r.Facts.Arch)
	}
}
