package thalassa

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// settledServices are the Services whose load balancers are as they should be, with what they were made from. Whoever changes one
// holds the Service's lock. The zero value is ready to use.
type settledServices struct {
	mu    sync.Mutex
	known map[types.UID]settledService
}

type settledService struct {
	service *corev1.Service
	nodes   []*corev1.Node
	// addresses are those that were published last.
	addresses []string
	// changing: the service controller is giving it other targets, or has failed to and will try again.
	changing bool
	// repairing: something differed and is not right yet, or its new address is not in the Service's status.
	repairing bool
}

func (s *settledServices) remember(service *corev1.Service, nodes []*corev1.Node, status *corev1.LoadBalancerStatus) {
	s.put(service.UID, settledService{service: service, nodes: nodes, addresses: addressesOf(*status)})
}

func (s *settledServices) put(uid types.UID, settled settledService) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[types.UID]settledService{}
	}
	s.known[uid] = settled
}

// changed notes other nodes; done says whether the targets are theirs already.
func (s *settledServices) changed(uid types.UID, nodes []*corev1.Node, done bool) {
	if settled, known := s.get(uid); known {
		settled.nodes, settled.changing = nodes, !done
		s.put(uid, settled)
	}
}

func (s *settledServices) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, uid)
}

func (s *settledServices) get(uid types.UID) (settledService, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	settled, known := s.known[uid]
	return settled, known
}

// list returns all, or only those under repair.
func (s *settledServices) list(repairing bool) []settledService {
	s.mu.Lock()
	defer s.mu.Unlock()
	var listed []settledService
	for _, settled := range s.known {
		if settled.repairing || !repairing {
			listed = append(listed, settled)
		}
	}
	return listed
}
