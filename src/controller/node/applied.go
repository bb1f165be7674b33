package node

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/controller/optout"
)

// appliedSuffix follows the domain in the name of the annotation that keeps what was set on a Node because its machine
// asks for it.
const appliedSuffix = "/applied"

// applied is what was set on a Node, so that it is removed when the machine does not ask for it any more, and nothing
// else is.
type applied struct {
	Labels map[string]string `json:"labels,omitempty"`
	Taints map[string]string `json:"taints,omitempty"` // key:effect -> value
}

// readApplied reads the annotation. What is no JSON says nothing: then nothing is ours, and so nothing is removed.
func readApplied(text string) applied {
	var a applied
	if json.Unmarshal([]byte(text), &a) != nil {
		return applied{}
	}
	return a
}

// String is the annotation, "" when nothing was set.
func (a applied) String() string {
	if len(a.Labels) == 0 && len(a.Taints) == 0 {
		return ""
	}
	text, err := json.Marshal(a)
	if err != nil { // maps of text always can be written
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

// checksumBytes is the length of the checksum: nobody finds another record with the same one.
const checksumBytes = 16

// checksum returns the value of the label for a record, "" for none.
func checksum(record string) string {
	if record == "" {
		return ""
	}
	digest := sha256.Sum256([]byte(record))
	return hex.EncodeToString(digest[:checksumBytes])
}

// recorded is what was set on a Node. A kubelet may write annotations of its Node, so the record counts only with its
// checksum: otherwise whoever has a machine could have any taint removed that keeps pods away from it. Without one
// nothing is ours.
func recorded(node *corev1.Node, domain string) (before applied, valid bool) {
	text := node.Annotations[domain+appliedSuffix]
	if node.Labels[checksumKey(domain)] != checksum(text) {
		return applied{}, false
	}
	before = readApplied(text)
	for _, kept := range []map[string]string{before.Labels, before.Taints} {
		maps.DeleteFunc(kept, func(key, _ string) bool { return kubernetesOwn(key) || key == domain+"/"+optout.Keep })
	}
	return before, true
}

// merged is what follows from what there is, what is wanted and what was set before.
type merged struct {
	set     map[string]string
	drop    []string          // sorted
	applied map[string]string // what will then have been set
	foreign []string          // wanted, but set otherwise by somebody else; sorted
}

// merge sets what is wanted and missing, changes and removes what was set before and is as it was set, and leaves what
// others set.
func merge(have, wanted, before map[string]string) merged {
	m := merged{set: map[string]string{}, applied: map[string]string{}}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[key]
		present, exists := have[key]
		was, ours := before[key]
		switch {
		case exists && present == value && !ours: // it is as wanted, and somebody else's
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
			m.drop = append(m.drop, key)
		}
	}
	return m
}
