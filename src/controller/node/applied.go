package node

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// appliedSuffix follows the domain in the name of the annotation with the last-applied record.
const appliedSuffix = "/applied"

// applied is the last-applied record of a Node: the labels and taints that its machine requests and that were set
// because of that. Only these are removed when the machine does not request them any more.
type applied struct {
	Labels map[string]string `json:"labels,omitempty"`
	Taints map[string]string `json:"taints,omitempty"` // key:effect -> value
}

// readApplied parses the annotation. Invalid JSON is an empty record, so nothing is removed.
func readApplied(text string) applied {
	var a applied
	if json.Unmarshal([]byte(text), &a) != nil {
		return applied{}
	}
	return a
}

// String is the annotation, "" for an empty record.
func (a applied) String() string {
	if len(a.Labels) == 0 && len(a.Taints) == 0 {
		return ""
	}
	text, err := json.Marshal(a)
	if err != nil { // maps of strings can always be encoded
		return ""
	}
	return string(text)
}

// checksumDomain is the domain of labels that the admission plug-in NodeRestriction does not permit kubelets to write.
const checksumDomain = "node-restriction.kubernetes.io/"

// checksumKey returns the key of the label with the checksum of the last-applied record.
func checksumKey(domain string) string {
	return checksumDomain + strings.ReplaceAll(domain, ".", "-") + "-applied"
}

// checksumBytes is the length of the checksum, which is too long to find another record with the same one.
const checksumBytes = 16

// checksum returns the value of the label for a record, "" for none.
func checksum(record string) string {
	if record == "" {
		return ""
	}
	digest := sha256.Sum256([]byte(record))
	return hex.EncodeToString(digest[:checksumBytes])
}

// recorded is the last-applied record of a Node. A kubelet may write annotations of its Node, so the record is valid
// only with its checksum. Otherwise the owner of a machine could remove any taint that keeps pods away from it.
func recorded(node *corev1.Node, domain string) (before applied, valid bool) {
	text := node.Annotations[domain+appliedSuffix]
	if node.Labels[checksumKey(domain)] != checksum(text) {
		return applied{}, false
	}
	before = readApplied(text)
	for _, kept := range []map[string]string{before.Labels, before.Taints} {
		maps.DeleteFunc(kept, func(key, _ string) bool {
			return kubernetesOwn(key) || key == domain+"/"+cloud.KeepNode
		})
	}
	return before, true
}

// merged is the result of merge.
type merged struct {
	set     map[string]string
	remove  []string          // sorted
	applied map[string]string // the new record
	foreign []string          // wanted, but set to another value by another client; sorted
}

// merge adds what is wanted and missing. It changes and removes what was set before and still has that value, and keeps
// what other clients set.
func merge(have, wanted, before map[string]string) merged {
	m := merged{set: map[string]string{}, applied: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[key]
		present, exists := have[key]
		was, ours := before[key]
		switch {
		case exists && present == value && !ours: // another client set the wanted value
		case exists && present == value:
			m.applied[key] = value
		case !exists, ours && present == was:
			m.set[key], m.applied[key] = value, value
		default:
			m.foreign = append(m.foreign, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		present, exists := have[key]
		if _, still := wanted[key]; !still && exists && present == before[key] {
			m.remove = append(m.remove, key)
		}
	}
	return m
}
