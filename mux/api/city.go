package api

import (
	"encoding/json"
	"time"
)

// Limits of requests to cities on other machines.
const (
	MaxCityRequest  = 1 << 20          // bytes
	MaxCityAnswer   = 16 << 20         // bytes
	MaxCityRequests = 64               // of one city that are not answered yet
	CityAnswerTime  = 20 * time.Second // for one answer
)

// CityRequest is a request of a program on this machine to a city on another one. The
// server does not look into Body.
type CityRequest struct {
	City string          `json:"city"` // id of the city, as in the outbox
	Body json.RawMessage `json:"body"`
}

// CityAnswer is the answer of a city.
type CityAnswer struct {
	Body json.RawMessage `json:"body"`
}

// CityAsked is a request as the city gets it.
type CityAsked struct {
	ID   string          `json:"id"` // for the answer
	Body json.RawMessage `json:"body"`
}
