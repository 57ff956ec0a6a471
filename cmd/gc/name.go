package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// product is what the program is called unless its user renamed it.
const product = "gc"

// program is the name that the binary was called by. It is set once, by main.
var program = product

// setProgram takes the name from the first word of the command line. A name that
// no person would type, such as that of a login shell (-gc), changes nothing.
func setProgram(arg0 string) {
	name := filepath.Base(arg0)
	if usableName.MatchString(name) {
		program = name
	}
}

var usableName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]*$`)

// callOfGC is a call of gc inside of a text: its name, a blank, and a word that may
// be one of its commands.
var callOfGC = regexp.MustCompile("(^|[\\s\"'`(|;&])gc ([a-z][a-z-]*)")

// named returns a text of ours with the calls of gc in it under the name that the
// binary has. A gc that is followed by no command is the product and stays.
func named(text string) string {
	if program == product || !strings.Contains(text, product) {
		return text
	}
	return callOfGC.ReplaceAllStringFunc(text, func(call string) string {
		head, word, _ := strings.Cut(call, product+" ")
		if !isCommand(word) {
			return call
		}
		return head + program + " " + word
	})
}

// isCommand reports whether gc has a command of that name.
func isCommand(word string) bool {
	return word == sessionOpName || slices.ContainsFunc(rootEntries(nil), func(e entry) bool { return e.name == word })
}
