// Command hello is the floor of every start-up measurement: the least that a Go
// program can do.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("hello\n") }
