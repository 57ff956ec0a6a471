// Package web tests gc web in real Chromium (Debian's, tag e2e): pages, keys,
// terminals, losses and attacks. `make e2e-web` runs it.
package web
