package proctree

// Root is the first process of a marked tree, with its environment.
type Root struct {
	Proc
	Env map[string]string
}

// Roots returns the live processes whose environment holds SessionVar = id (any
// value when id is "") and whose parent does not hold the same: one for each
// session and each part of it that was cut off. Processes of other users are
// not seen.
func Roots(id string) ([]Root, error) {
	table, err := Table()
	if err != nil {
		return nil, err
	}
	envs := make(map[int]map[string]string)
	for _, p := range table {
		if p.Zombie() {
			continue
		}
		env, err := Environ(p.PID)
		if err == nil && env[SessionVar] != "" {
			envs[p.PID] = env
		}
	}
	var out []Root
	for _, p := range table {
		env := envs[p.PID]
		mark := env[SessionVar]
		if mark == "" || id != "" && mark != id || envs[p.PPID][SessionVar] == mark {
			continue
		}
		out = append(out, Root{Proc: p, Env: env})
	}
	return out, nil
}
