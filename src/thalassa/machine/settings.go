package machine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/thalassa-cloud/thalassa-ccm/src/cloud"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/inventory"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
)

// addSettings copies the machine's labels with the configured prefixes to labels and taints. They are not validated
// here.
func (i *Provider) addSettings(machine *cloud.Machine, actual inventory.Machine) {
	c := i.config.InstancesV2
	for _, key := range slices.Sorted(maps.Keys(actual.Labels)) {
		value := actual.Labels[key]
		if setsReserved(key, c.LabelPrefix) || setsReserved(key, c.TaintPrefix) {
			machine.Problems = append(machine.Problems, *cloud.ProblemOf(reasonInvalidSetting, textReserved, key,
				label.Reserved))
			continue
		}
		if name, is := cutPrefix(key, c.LabelPrefix); is {
			if machine.Labels == nil {
				machine.Labels = map[string]string{}
			}
			machine.Labels[name] = value
		}
		if name, is := cutPrefix(key, c.TaintPrefix); is {
			machine.Taints = append(machine.Taints, taintOf(name, value))
		}
	}
}

// setsReserved reports whether a machine's label would set a reserved label on its Node.
func setsReserved(key, prefix string) bool {
	name, is := cutPrefix(key, prefix)
	return is && strings.HasPrefix(name, label.Reserved)
}

// cutPrefix is strings.CutPrefix, except that nothing begins with "".
func cutPrefix(key, prefix string) (rest string, is bool) {
	if prefix == "" {
		return "", false
	}
	return strings.CutPrefix(key, prefix)
}

// taintOf reads "<effect>" or "<value>.<effect>": labels of the cloud cannot have the colon that Kubernetes writes.
func taintOf(key, text string) corev1.Taint {
	value, effect := "", text
	if at := strings.LastIndexByte(text, '.'); at >= 0 {
		value, effect = text[:at], text[at+1:]
	}
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
}

// addType adds labels with processors and memory of the machine type. While the type is not known, the Node's labels
// stay.
func (i *Provider) addType(ctx context.Context, machine *cloud.Machine, actual inventory.Machine) {
	if !i.config.InstancesV2.TypeLabels || actual.Type == "" {
		return
	}
	size, found, err := i.inventory.MachineTypeOf(ctx, actual.Type)
	if err != nil || !found {
		machine.UnknownLabels = append(machine.UnknownLabels, label.CPUs, label.Memory)
		machine.Problems = append(machine.Problems, typeProblem(actual.Type, err))
		return
	}
	if machine.Labels == nil {
		machine.Labels = map[string]string{}
	}
	machine.Labels[label.CPUs] = strconv.Itoa(size.CPUs)
	machine.Labels[label.Memory] = strconv.FormatFloat(float64(size.MemoryMiB)/mebibytes, 'f', -1, 64)
}

// mebibytes is the number of MiB in a GiB.
const mebibytes = 1024

// typeProblem describes why processors and memory are not known.
func typeProblem(machineType string, err error) cloud.MachineProblem {
	if err == nil {
		return *cloud.ProblemOf(reasonInvalidSetting, textTypeNotListed, machineType, label.CPUs, label.Memory)
	}
	reason := reasonNotReachable
	if problem, ok := errors.AsType[*cloud.MachineProblem](problemOf(err)); ok {
		reason = problem.Reason
	}
	return *cloud.ProblemOf(reason, textTypeNotKnown, label.CPUs, label.Memory, err)
}
