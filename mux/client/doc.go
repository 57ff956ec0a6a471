// Package client is what a caller of the multiplexer links: it finds or starts the
// server ([Dial], [Ensure], [Host] for those of other machines), speaks the /v1 API
// ([Client]) and connects a person's terminal to a session ([Client.AttachTerminal]).
//
// It never imports the server. What it asks again after a server died is said at each
// method. Providers, the command line and tests call it.
package client
