package uicmd

import "github.com/spf13/pflag"

// webFlags adds the flags that gc web passes on to gc-ui.
func webFlags(f *pflag.FlagSet) {
	f.String("listen", "", "serve on this `HOST:PORT` (default 127.0.0.1:8642)")
	f.String("unix", "", "serve on a socket at this `PATH` instead, for ssh -L")
	f.Bool("open", false, "open the browser")
	f.Bool("read-only", false, "pages look and do not touch; with --link, so does that link")
	f.StringSlice("name", nil, "further host `NAME`s by which browsers reach the server")
	f.String("tls-cert", "", "certificate `FILE`, with --tls-key")
	f.String("tls-key", "", "key `FILE`")
	f.Bool("tls-self-signed", false, "make a certificate; prints its fingerprint and a QR code")
	f.Bool("insecure", false, "plain HTTP on an address that other machines reach")
	f.Bool("metrics", false, "serve /metrics for Prometheus: numbers, no names; no token")
	f.Bool("link", false, "print another link to the running server, and end")
	f.Bool("revoke", false, "end every page's session and invalidate every link, and end")
}
