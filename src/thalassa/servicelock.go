package thalassa

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// serviceLocks lets one goroutine at a time change what a Service has in the cloud: the service controller's two paths,
// Services and nodes, otherwise overlap. The zero value is ready to use.
type serviceLocks struct {
	mu    sync.Mutex
	locks map[types.UID]*serviceLock
}

type serviceLock struct {
	sync.Mutex
	users int
}

// lock waits for the Service's lock and returns what releases it.
func (s *serviceLocks) lock(service *corev1.Service) (unlock func()) {
	s.mu.Lock()
	if s.locks == nil {
		s.locks = map[types.UID]*serviceLock{}
	}
	lock := s.locks[service.UID]
	if lock == nil {
		lock = &serviceLock{}
		s.locks[service.UID] = lock
	}
	lock.users++
	s.mu.Unlock()

	lock.Lock()
	return func() {
		lock.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if lock.users--; lock.users == 0 {
			delete(s.locks, service.UID)
		}
	}
}
