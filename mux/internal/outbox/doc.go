// Package outbox keeps what programs on this machine say to cities that are on other
// machines, until each city takes it.
//
// A message is in mux.db before it is acknowledged, and an id is accepted once: also by the
// next server, and for [api.OutboxMemory] after the message was taken. It never looks into a
// message, and never sends one: the city asks, and waits here for the next. All state is in
// mux.db, in memory there is only the wake-up of those who wait.
//
// Only mux/server imports it.
package outbox
