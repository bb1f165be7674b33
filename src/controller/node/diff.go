package node

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cloud-provider/api"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
)

// difference is what of a Node differs from its desired state. Nil or empty fields do not change.
type difference struct {
	// provider ID of the machine that no other Node may claim before this one is written; "": the Node has it already
	machine     string
	providerID  string
	labels      map[string]*string // nil removes one
	annotations map[string]*string
	taints      []corev1.Taint // all that the Node should have, if retaints
	retaints    bool
	addresses   []corev1.NodeAddress
	// problems are reported on the Node; the rest is written nevertheless.
	problems []cloud.MachineProblem
	domain   string
}

// compare returns how a Node differs from its desired state. Domain begins the name of the annotation with the
// last-applied record. The problem is that the Node cannot be initialised; in that case nothing is written.
func compare(node *corev1.Node, machine cloud.Machine, domain string) (difference, *cloud.MachineProblem) {
	d := difference{labels: map[string]*string{}, annotations: map[string]*string{},
		problems: slices.Clone(machine.Problems), domain: domain}
	d.addresses = d.compareAddresses(node, machine.Addresses)
	if cloud.Uninitialised(node) {
		if problem := d.initialisationProblem(node, machine); problem != nil {
			return difference{}, problem
		}
	}
	if node.Spec.ProviderID == "" {
		d.providerID = machine.ProviderID
	}
	d.compareStandard(node, machine)
	d.compareExtras(node, machine)
	return d, nil
}

// initialisationProblem is why a Node cannot be initialised although its machine is known.
func (d *difference) initialisationProblem(node *corev1.Node, machine cloud.Machine) *cloud.MachineProblem {
	addresses := d.addresses
	if addresses == nil {
		addresses = node.Status.Addresses
	}
	hasIP := slices.ContainsFunc(addresses, func(a corev1.NodeAddress) bool {
		return a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP
	})
	at := slices.IndexFunc(d.problems, func(p cloud.MachineProblem) bool {
		return p.Reason == cloud.InvalidNodeIP || p.Reason == cloud.MachineNoAddress
	})
	switch {
	case at >= 0:
		return &d.problems[at]
	case node.Spec.ProviderID == "" && machine.ProviderID == "":
		return cloud.ProblemOf(reasonNotFound, textNoProviderID)
	case !hasIP:
		return cloud.ProblemOf(reasonNoAddress, textNoAddress)
	}
	return nil
}

func uninitialised(taint corev1.Taint) bool { return taint.Key == api.TaintExternalCloudProvider }

// standardLabels are the labels that Kubernetes defines for the properties of a machine, with their older names, which
// are still used in selectors.
func standardLabels(machine cloud.Machine) map[string]string {
	labels := map[string]string{}
	for value, keys := range map[*string][2]string{
		&machine.Type:   {corev1.LabelInstanceTypeStable, corev1.LabelInstanceType},
		&machine.Zone:   {corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone},
		&machine.Region: {corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion},
	} {
		for _, key := range keys {
			if *value != "" {
				labels[key] = *value
			}
		}
	}
	return labels
}

func (d *difference) compareStandard(node *corev1.Node, machine cloud.Machine) {
	wanted := standardLabels(machine)
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		value := wanted[key]
		switch {
		case len(validation.IsValidLabelValue(value)) > 0:
			d.addProblem(textInvalidLabel, value, key)
		case node.Labels[key] != value:
			d.labels[key] = &value
		}
	}
}

// compareExtras compares the labels and taints beside the standard ones.
func (d *difference) compareExtras(node *corev1.Node, machine cloud.Machine) {
	before, valid := recorded(node, d.domain)
	if !valid {
		d.addProblem(textRecordChanged, d.domain+appliedSuffix, checksumKey(d.domain))
	}
	labels := d.mergeLabels(node, machine, before.Labels)
	taints := d.mergeTaints(node, machine, before.Taints)
	record := applied{Labels: labels, Taints: taints}.String()
	change(d.annotations, node.Annotations, d.domain+appliedSuffix, record)
	change(d.labels, node.Labels, checksumKey(d.domain), checksum(record))
}

// change adds the change of a label or annotation to the desired value; "" removes it.
func change(changes map[string]*string, have map[string]string, key, wanted string) {
	switch present, exists := have[key]; {
	case wanted == "" && exists:
		changes[key] = nil
	case wanted != "" && wanted != present:
		changes[key] = &wanted
	}
}

func (d *difference) mergeLabels(node *corev1.Node, machine cloud.Machine,
	before map[string]string) (after map[string]string) {
	wanted := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(machine.Labels)) {
		if value := machine.Labels[key]; d.permitted("label", key, value) {
			wanted[key] = value
		}
	}
	for _, key := range machine.UnknownLabels {
		if was, ours := before[key]; ours {
			wanted[key] = was
		}
	}
	m := merge(node.Labels, wanted, before)
	for key, value := range m.set {
		d.labels[key] = &value
	}
	for _, key := range m.remove {
		d.labels[key] = nil
	}
	for _, key := range m.foreign {
		d.addProblem(textLabelOfAnother, key, wanted[key], node.Labels[key])
	}
	return m.applied
}

func (d *difference) mergeTaints(node *corev1.Node, machine cloud.Machine,
	before map[string]string) (after map[string]string) {
	wanted := map[string]string{}
	for _, taint := range machine.Taints {
		if d.permitted("taint", taint.Key, taint.Value) && d.effective(taint) {
			wanted[taintKey(taint)] = taint.Value
		}
	}
	have := map[string]string{}
	for _, taint := range node.Spec.Taints {
		have[taintKey(taint)] = taint.Value
	}
	m := merge(have, wanted, before)
	for _, key := range m.foreign {
		d.addProblem(textTaintOfAnother, key, wanted[key], have[key])
	}
	d.retaint(node, m)
	return m.applied
}

// retaint sets the taints that the Node should have.
func (d *difference) retaint(node *corev1.Node, m merged) {
	for _, taint := range node.Spec.Taints {
		key := taintKey(taint)
		if _, changes := m.set[key]; !changes && !uninitialised(taint) && !slices.Contains(m.remove, key) {
			d.taints = append(d.taints, taint)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m.set)) {
		name, effect, _ := strings.Cut(key, taintSeparator)
		d.taints = append(d.taints, corev1.Taint{Key: name, Value: m.set[key], Effect: corev1.TaintEffect(effect)})
	}
	d.retaints = len(d.taints) != len(node.Spec.Taints) || len(m.set) > 0
}

// taintSeparator is not part of any key of a taint.
const taintSeparator = ":"

// taintKey identifies a taint of a Node.
func taintKey(taint corev1.Taint) string { return taint.Key + taintSeparator + string(taint.Effect) }

func (d *difference) effective(taint corev1.Taint) bool {
	switch taint.Effect {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return true
	}
	d.addProblem(textInvalidEffect, taint.Key, taint.Effect, corev1.TaintEffectNoSchedule,
		corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
	return false
}

// permitted reports whether a label or taint that a machine requests may be set.
func (d *difference) permitted(kind, key, value string) bool {
	switch wrong := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); {
	case len(wrong) > 0:
		d.addProblem(textNotAllowed, kind, key, value, wrong[0])
		return false
	case key == d.domain+"/"+cloud.KeepNode:
		d.addProblem(textKeepNode, kind, key)
		return false
	case kubernetesOwn(key):
		d.addProblem(textReserved, kind, key, roleDomain)
		return false
	}
	return true
}

// roleDomain is the only domain of Kubernetes with labels that users set themselves.
const roleDomain = "node-role.kubernetes.io"

// kubernetesOwn reports whether Kubernetes defines the meaning of a label or taint, or permits only the cluster's
// administrators to set it.
func kubernetesOwn(key string) bool {
	domain, _, prefixed := strings.Cut(key, "/")
	return prefixed && domain != roleDomain && (inDomain(domain, "kubernetes.io") || inDomain(domain, "k8s.io"))
}

func inDomain(domain, parent string) bool {
	return domain == parent || strings.HasSuffix(domain, "."+parent)
}

func (d *difference) addProblem(format string, values ...any) {
	d.problems = append(d.problems, *cloud.ProblemOf(reasonInvalidSetting, format, values...))
}
