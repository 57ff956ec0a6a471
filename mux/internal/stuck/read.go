package stuck

import (
	"errors"
	"fmt"
	"slices"

	"gascity.dev/gc/internal/proctree"
)

// Read looks at the processes that list returns.
func Read(list func() ([]proctree.Proc, error)) (Sample, error) {
	procs, err := list()
	if err != nil {
		return Sample{}, err
	}
	var s Sample
	var alive []int
	for _, p := range procs {
		used, err := proctree.CPU(p.PID)
		switch {
		case errors.Is(err, proctree.ErrNotFound): // it ended; the next look has other processes
			continue
		case err != nil:
			return Sample{}, err
		}
		s.CPU += used
		s.Procs = append(s.Procs, p.ID())
		if !p.Zombie() {
			alive = append(alive, p.PID)
		}
	}
	if len(alive) == 0 {
		return Sample{}, errors.New("its processes are not visible")
	}
	if s.Net, err = traffic(alive); err != nil {
		return Sample{}, fmt.Errorf("its network connections: %w", err)
	}
	slices.Sort(s.Net.Sockets)
	return s, nil
}
