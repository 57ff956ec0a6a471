// Package client is what a caller of the multiplexer links: it finds or starts the
// server ([Dial], [Ensure], [Host] for other machines), speaks the /v1 API
// ([Client]) and connects a person's terminal to a session ([Client.AttachTerminal]).
//
// It never imports the server. Each method says what it retries after a server died.
// Providers, the command line and tests call it.
package client
