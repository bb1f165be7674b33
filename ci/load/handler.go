package load

import (
	"io"
	"net/http"
)

// Handler is the other end of the load: it says who it is, as who decides for a request, and then returns every byte.
func Handler(who func(*http.Request) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != protocol {
			http.Error(w, "this server answers package load only", http.StatusUpgradeRequired)
			return
		}
		w.Header().Set(targetHeader, who(r))
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", protocol)
		w.WriteHeader(http.StatusSwitchingProtocols)
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return // the connection is gone, or it is none that has a protocol to switch
		}
		defer conn.Close()
		// It ends with the connection, which is whatever the other side wants.
		_, _ = io.Copy(conn, buffered)
	})
}
