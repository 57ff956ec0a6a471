// Package citiescmd is gc cities: the cities of this user on this machine, running or not.
//
// It asks each controller and changes nothing. cmd/gc adds [New] to the command tree.
package citiescmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"gascity.dev/gc/cmd/gc/internal/cli"
	"gascity.dev/gc/cmd/gc/internal/display"
	"gascity.dev/gc/internal/config"
	cityapi "gascity.dev/gc/internal/controller/api"
	"gascity.dev/gc/internal/controller/names"
)

// askTime bounds the answer of one controller.
const askTime = 3 * time.Second

// States of a city.
const (
	running = "running"
	stopped = "stopped"
	unknown = "unknown" // its controller gives no answer
)

// city is one element of gc cities --json.
type city struct {
	Name    string     `json:"name"`
	Path    string     `json:"path"`
	State   string     `json:"state"`
	PID     int        `json:"pid,omitempty"` // of its controller
	Since   *time.Time `json:"since,omitempty"`
	Agents  *int       `json:"agents,omitempty"`  // of city.toml, members of pools counted; nil: not known
	Running *int       `json:"running,omitempty"` // those that run
	Error   string     `json:"error,omitempty"`
}

// New returns gc cities.
func New(c *cli.Console) *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:   "cities",
		Short: "List the cities of this machine, running or not",
		Args:  cli.Exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list := cities(cmd.Context(), names.Cities(names.ClaimsDir(os.Getenv)))
			if asJSON {
				return c.PrintJSON(list)
			}
			if len(list) == 0 {
				fmt.Fprintln(c.Err, "no city was started here")
				return nil
			}
			return table(c, list)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: an array with name, path, state, pid, since, agents, running, error")
	return cli.Describe(cmd, `Lists the cities that you have started on this machine and whose city.toml is still there.
STATE is running, stopped, or unknown if a controller is there and gives no answer. AGENTS
is how many run, of how many.`, `
		gc cities
		gc cities --json | jq -r '.[] | select(.state == "running").path'`,
		cli.Statuses{})
}

// cities asks the controllers of the cities in these directories, all at once.
func cities(ctx context.Context, dirs []string) []city {
	dirs = slices.DeleteFunc(slices.Clone(dirs), func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, config.FileName))
		return err != nil // it was removed or moved
	})
	list := make([]city, len(dirs))
	var all sync.WaitGroup
	for i, dir := range dirs {
		all.Go(func() { list[i] = ask(ctx, dir) })
	}
	all.Wait()
	slices.SortStableFunc(list, func(a, b city) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Path, b.Path)) })
	return list
}

// ask returns what is known of the city in dir.
func ask(ctx context.Context, dir string) city {
	c := city{Name: filepath.Base(dir), Path: dir, State: stopped}
	conf, err := config.Load(dir)
	if conf != nil {
		c.Name = conf.Name()
	}
	if err != nil {
		c.Error = err.Error()
	}
	client, err := cityapi.Dial(dir)
	if errors.Is(err, cityapi.ErrNoController) {
		return c
	}
	if err != nil {
		c.State, c.Error = unknown, err.Error()
		return c
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	st, err := client.Status(ctx)
	switch {
	case errors.Is(err, cityapi.ErrNoController): // it ended meanwhile
		return c
	case err != nil:
		c.State, c.Error = unknown, err.Error()
		return c
	}
	c.Name, c.State, c.PID, c.Since = st.City, running, st.Controller.PID, st.Controller.Since
	agents, up := len(st.Agents), 0
	for _, a := range st.Agents {
		if a.State == cityapi.StateRunning {
			up++
		}
	}
	c.Agents, c.Running = &agents, &up
	return c
}

func table(c *cli.Console, list []city) error {
	t := c.Table(cli.Listing{})
	t.Add("NAME", "STATE", "SINCE", "AGENTS", "PATH")
	for _, it := range list {
		since, agents := "-", "-"
		if it.Since != nil {
			since = display.Ago(*it.Since, time.Now())
		}
		if it.Agents != nil {
			agents = fmt.Sprintf("%d/%d", *it.Running, *it.Agents)
		}
		t.Add(display.Line(it.Name), it.State, since, agents, display.Line(it.Path))
	}
	if err := t.Print(c.Out); err != nil {
		return err
	}
	for _, it := range list {
		if it.Error != "" {
			fmt.Fprintf(c.Err, "%s: %s: %s\n", cli.Program, display.Line(it.Path), display.Line(it.Error))
		}
	}
	return nil
}
