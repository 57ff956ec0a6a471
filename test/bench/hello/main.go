// Command hello is the lower bound of start-up measurements: the least that a
// Go program can do.
package main

import "os"

func main() { _, _ = os.Stdout.WriteString("hello\n") }
