// Package resource provides the objects of the cloud that serve Services and volumes, as plain values. It contains
// nothing that can call the cloud. Fields have the names of the API in JSON, so that requests and answers need no other
// types for them.
package resource

// Labels are labels or annotations of an object in the cloud: key -> value.
type Labels = map[string]string

// HasLabels reports whether labels contain all wanted labels.
func HasLabels(labels, wanted Labels) bool {
	for key, value := range wanted {
		if labels[key] != value {
			return false
		}
	}
	return true
}

// StatusDeleting is the status after a deletion was accepted.
const StatusDeleting = "deleting"

// Traits are properties of an object that lost labels of its owner.
type Traits struct {
	Owner     string
	Names     []string
	Addresses []string // only of load balancers that lack labels
}
