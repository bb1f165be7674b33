package emulator

// Counters are the API requests served since the start or the last reset, by
// operation: a method and a path pattern, such as "GET /v1/machines" or
// "POST /v1/loadbalancers/{id}/listeners". Refused requests count as well;
// requests to the admin API do not.
func (e *Emulator) Counters() map[string]int { return e.api.Requests.All() }

// Operations are all operations of the API that belong to an organisation,
// sorted: a method and a path pattern each, as in Counters.
func (e *Emulator) Operations() []string {
	return e.api.OperationNames()
}

// Writes is the log of writes since the start or the last reset, oldest first.
func (e *Emulator) Writes() []Write { return e.api.Requests.Log() }

// ResetCounters empties the counters and the log of writes.
func (e *Emulator) ResetCounters() { e.api.Requests.Reset() }
