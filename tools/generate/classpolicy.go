package generate

import (
	"context"
	"strconv"
	"strings"

	"github.com/thalassa-cloud/thalassa-ccm/src/csi/driver"
	"github.com/thalassa-cloud/thalassa-ccm/src/csi/volume"
)

// classNote is why a policy that cannot be evaluated refuses nothing.
const classNote = `# Made by "make generate" from the parameters that src/csi/volume reads.

# An error of the policy itself must not stop every class. Nothing is lost then: the driver refuses to create volumes and
# snapshots with the same parameters, and an event of the claim or of the snapshot has the reason.
failurePolicy: Ignore
matchConstraints:
  # The defaults: a second server-side applier would conflict about what the API server completes.
  matchPolicy: Equivalent
  namespaceSelector: {}
  objectSelector: {}
  resourceRules:
    - apiGroups: [GROUP]
      apiVersions: [v1]
      operations: [OPERATIONS]
      resources: [RESOURCE]
      scope: "*"
matchConditions:
  - name: ours
    expression: object.FIELD == DRIVER
`

// storageClassRules need no comparison with the class from before: the API server refuses to change parameters.
const storageClassRules = `variables:
  - name: parameters
    expression: >-
      has(object.parameters) ? object.parameters : {}
  # Names that begin with PREFIX are those of csi-provisioner, which removes them and refuses others.
  - name: unknown
    expression: >-
      variables.parameters.transformList(name, _, !(name in [NAMES]) && !name.startsWith(PREFIX), name)
  - name: filesystems
    expression: >-
      [FILESYSTEM_NAMES].filter(name, name in variables.parameters)
  - name: problems
    expression: >-
      variables.unknown.transformList(i, name, i < SHOWN, "parameter " + strings.quote(name) +
      " is not known; the parameters are KNOWN") +
      variables.filesystems.filter(name, !(variables.parameters[name] in [FILESYSTEMS])).map(name, "parameter " +
      name + ": filesystem " + strings.quote(variables.parameters[name]) + " is not supported; use one of SUPPORTED") +
      (size(variables.filesystems) > 1 ? ["parameters " + variables.filesystems.join(" and ") +
      " exclude each other; use " + variables.filesystems[1]] : [])
`

// snapshotClassRules let a class keep the parameters that it had before.
const snapshotClassRules = `variables:
  - name: before
    expression: >-
      oldObject != null && has(oldObject.parameters) ? oldObject.parameters : {}
  # Names that begin with PREFIX are those of csi-snapshotter.
  - name: unknown
    expression: >-
      has(object.parameters) ? object.parameters.transformList(name, value, !name.startsWith(PREFIX) &&
      !(name in variables.before && variables.before[name] == value), name) : []
  - name: problems
    expression: >-
      variables.unknown.transformList(i, name, i < SHOWN, "parameter " + strings.quote(name) +
      " is not known; there are no parameters")
`

// classVerdict ends a policy. A message may have 5 KiB: 1200 characters never are more, whatever alphabet they are in.
const classVerdict = `  - name: message
    expression: >-
      variables.problems.join("; ")
validations:
  - expression: size(variables.problems) == 0
    reason: Invalid
    message: >-
      a parameter is not known, or its value is not allowed; see PAGE
    messageExpression: >-
      size(variables.message) > 1200 ? variables.message.substring(0, 1200) + " …" : variables.message
`

// classPage describes the parameters of classes.
const classPage = "https://github.com/thalassa-cloud/thalassa-ccm/blob/main/docs/guides/volumes.md"

// classPolicies makes the specs of the admission policies of the CSI driver's chart, which its template completes, from
// the names and filesystems that the driver reads, so that they cannot differ.
func classPolicies() Generator {
	return Generator{Name: "admission policies of the CSI driver", Files: func(context.Context, string) (
		map[string][]byte, error) {
		const folder = "charts/thalassa-csi/files/admission-policy-"
		return map[string][]byte{
			folder + "storageclasses.yaml": []byte(classPolicy(storageClassRules,
				"GROUP", "storage.k8s.io", "RESOURCE", "storageclasses", "OPERATIONS", "CREATE",
				"FIELD", "provisioner")),
			folder + "volumesnapshotclasses.yaml": []byte(classPolicy(snapshotClassRules,
				"GROUP", "snapshot.storage.k8s.io", "RESOURCE", "volumesnapshotclasses", "OPERATIONS", "CREATE, UPDATE",
				"FIELD", "driver")),
		}, nil
	}}
}

// classPolicy completes the rules of a policy with pairs of what is replaced and its replacement.
func classPolicy(rules string, pairs ...string) string {
	return strings.NewReplacer(append(pairs,
		"FILESYSTEM_NAMES", quotedList(volume.FilesystemNames()), "FILESYSTEMS", quotedList(append([]string{""},
			volume.Filesystems()...)), "SUPPORTED", strings.Join(volume.Filesystems(), ", "),
		"NAMES", quotedList(volume.ParameterNames()), "KNOWN", strings.Join(volume.ParameterNames(), ", "),
		"PREFIX", strconv.Quote(volume.ReservedPrefix), "DRIVER", strconv.Quote(driver.DefaultName),
		"SHOWN", strconv.Itoa(shownProblems), "PAGE", classPage,
	)...).Replace(classNote + rules + classVerdict)
}

// quotedList are words as the elements of a list in CEL.
func quotedList(words []string) string {
	var list []string
	for _, word := range words {
		list = append(list, strconv.Quote(word))
	}
	return strings.Join(list, ", ")
}
