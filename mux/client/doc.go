// Package client is what a caller of the multiplexer links: it finds or starts the
// server ([Dial], [Ensure], [Host] for other machines) and speaks the /v1 API
// ([Client]). A person's terminal is the work of mux/attach.
//
// It never imports the server. Each method says what it retries after a server died.
// Providers, mux/attach, the command line and tests call it.
package client
