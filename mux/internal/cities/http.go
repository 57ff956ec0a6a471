package cities

import (
	"encoding/json"
	"net/http"
	"time"

	"gascity.dev/gc/mux/api"
	"gascity.dev/gc/mux/internal/endpoint"
)

// HandleAsk serves POST /v1/city/requests.
func (r *Relay) HandleAsk(w http.ResponseWriter, req *http.Request) (any, error) {
	var q api.CityRequest
	if err := endpoint.ReadJSON(w, req, &q); err != nil {
		return nil, err
	}
	body, err := r.Ask(req.Context(), q)
	return api.CityAnswer{Body: body}, err
}

// passTime limits the time that a city takes to read one request.
const passTime = 10 * time.Second

// HandleListen serves GET /v1/city/requests.
func (r *Relay) HandleListen(w http.ResponseWriter, req *http.Request) (any, error) {
	city := req.URL.Query().Get("city")
	if err := checkCity(city); err != nil {
		return nil, err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out, lines := http.NewResponseController(w), json.NewEncoder(w)
	ready := func() error { // the client may count on it once it has the header
		w.WriteHeader(http.StatusOK)
		return out.Flush()
	}
	_ = r.Listen(req.Context(), city, ready, func(q api.CityAsked) error { // the city is gone
		_ = out.SetWriteDeadline(time.Now().Add(passTime))
		if err := lines.Encode(q); err != nil {
			return err
		}
		return out.Flush()
	})
	return endpoint.Hijacked{}, nil
}

// HandleAnswer serves POST /v1/city/requests/{id}.
func (r *Relay) HandleAnswer(w http.ResponseWriter, req *http.Request) (any, error) {
	var a api.CityAnswer
	if err := endpoint.ReadJSON(w, req, &a); err != nil {
		return nil, err
	}
	return nil, r.Answer(req.PathValue("id"), a.Body)
}
