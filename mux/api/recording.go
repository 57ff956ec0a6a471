package api

// Formats of a recording.
const (
	RecordingASCIICast = "asciicast" // version 2
	RecordingRaw       = "raw"       // the bytes alone
)
