package inventory

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/thalassa-cloud/client-go/iaas"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
)

// absences remembers machines that were not in a list made because they were missed. The zero value is ready to use.
type absences struct {
	mu   sync.Mutex
	seen map[string]time.Time // identity -> when the cloud said so
}

func (a *absences) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[string]time.Time{}
	}
	maps.DeleteFunc(a.seen, func(_ string, at time.Time) bool { return time.Since(at) > MachineAge })
	a.seen[id] = time.Now()
}

func (a *absences) know(id string, maxAge time.Duration) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, known := a.seen[id]
	return known && time.Since(at) < maxAge
}

// MachineExists asks the cloud for one machine by identity, not through the list: a machine that the list did not have is
// believed to be gone only when this says so too.
func (i *Inventory) MachineExists(ctx context.Context, id string) (bool, error) {
	got, err := client.Get[machineItem](ctx, i.cloud, iaas.MachineEndpoint+"/"+id)
	if isGone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return !got.object().Gone(), nil
}
