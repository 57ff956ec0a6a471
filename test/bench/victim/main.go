// Command victim is an agent to be killed: it reports its start to the FIFO
// named by its argument, as "PID NANOSECONDS", and waits to be killed.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	started := time.Now()
	report, err := os.OpenFile(os.Args[1], os.O_WRONLY, 0)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintf(report, "%d %d\n", os.Getpid(), started.UnixNano())
	_ = report.Close()
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	<-end
}
