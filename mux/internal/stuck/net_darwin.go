package stuck

import "errors"

func traffic([]int) (Traffic, error) {
	return Traffic{}, errors.New("not known on this system")
}
