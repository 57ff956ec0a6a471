package main

import (
	"slices"
	"strconv"
	"strings"
)

// chooseOption finds the one option that a person named: by its label, else by
// its number or the beginning of its label. A name that fits several is refused.
func chooseOption(options []string, want string) (string, error) {
	if len(options) == 0 {
		return "", fail(exitFailure, "--text answers it", "the question has no options to choose from")
	}
	fits := fitting(options, func(_ int, label string) bool { return label == want })
	if len(fits) == 0 {
		fits = fitting(options, func(_ int, label string) bool { return strings.EqualFold(label, want) })
	}
	if len(fits) == 0 && want != "" {
		number, _ := strconv.Atoi(want) // 0 for a word
		fits = fitting(options, func(i int, label string) bool {
			return i == number-1 || len(label) >= len(want) && strings.EqualFold(label[:len(want)], want)
		})
	}
	switch {
	case len(fits) == 0:
		return "", fail(exitFailure, "options: "+strings.Join(options, " | "), "the question has no option %q", want)
	case len(fits) > 1:
		return "", fail(exitFailure, "options: "+strings.Join(options, " | "), "%q fits several options: %s", want, strings.Join(fits, " | "))
	case slices.Contains(options[slices.Index(options, fits[0])+1:], fits[0]):
		return "", fail(exitFailure, "attach to it and answer by hand", "several options are called %q", fits[0])
	}
	return fits[0], nil
}

// fitting are the different labels for which ok is true.
func fitting(options []string, ok func(i int, label string) bool) []string {
	var fits []string
	for i, label := range options {
		if ok(i, label) && !slices.Contains(fits, label) {
			fits = append(fits, label)
		}
	}
	return fits
}
