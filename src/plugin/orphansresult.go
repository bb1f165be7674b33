package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/plugin/terminal"
)

// Orphans is the result of the command orphans.
type Orphans struct {
	Header  `json:",inline"`
	Orphans []Orphan `json:"orphans"` // sorted by namespace, name and UID
	// Most means that more Services of this cluster's objects in the cloud are missing than exist: this may be the
	// wrong cluster, or one that was restored.
	Most bool `json:"most,omitempty"`
	// Stored are volumes and snapshots without a PersistentVolume or VolumeSnapshotContent, volumes first.
	Stored []StoredOrphan `json:"stored,omitempty"`
	// MostStored means that more volumes, or more snapshots, of this cluster have none than have one.
	MostStored bool `json:"mostStored,omitempty"`
	// StoredUnknown is why volumes and snapshots are not known.
	StoredUnknown string `json:"storedUnknown,omitempty"`

	within string // the only namespace whose orphans these are; "" is all
}

// Orphan are the objects in the cloud of one Service that does not exist.
type Orphan struct {
	// Namespace and Name are those of the Service, from the labels; they may be unknown.
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Objects   []OrphanObject `json:"objects"`
	// Retained means that the deletion policy of the Service was to retain its load balancer.
	Retained bool `json:"retained,omitempty"`
	// Incomplete means that an object has lost labels.
	Incomplete bool `json:"incomplete,omitempty"`
	// Doubt is why the objects may belong to another cluster with the same name in its configuration.
	Doubt string `json:"doubt,omitempty"`
	// Why is the reason why the cloud controller manager has not deleted the objects.
	Why string `json:"why"`
}

// OrphanObject is an object in the cloud.
type OrphanObject struct {
	Kind     string `json:"kind"` // "load balancer"
	Name     string `json:"name"`
	Identity string `json:"identity"`
	State    string `json:"state,omitempty"` // of the cloud
	// Unlabelled means that the object has lost the labels of its Service.
	Unlabelled bool `json:"unlabelled,omitempty"`
}

// Names returns the UIDs of Services, and the identities of volumes and snapshots, as arguments of the command that
// deletes.
func (o Orphans) Names() []string {
	var names []string
	for _, one := range o.Orphans {
		names = append(names, one.UID)
	}
	for _, one := range o.Stored {
		names = append(names, one.Identity)
	}
	return names
}

// Write writes a table of Services, and one of volumes and snapshots. With wide, the names and identities of all
// objects of Services are below the first one, each on a line of its own.
func (o Orphans) Write(to terminal.Terminal, wide bool) {
	o.writeServices(to, wide)
	if o.StoredUnknown != "" {
		to.Indented(0, "", terminal.Caution, "Volumes and snapshots are not known: "+o.StoredUnknown)
	}
	if len(o.Stored) == 0 {
		return
	}
	to.Print("\n")
	to.PrintTable(tableOfStored(o.Stored))
	to.Print("\n")
	if o.MostStored {
		to.Indented(0, "", terminal.Caution, mostStored)
	}
	to.Indented(0, "", terminal.Plain, "They have no PersistentVolume or VolumeSnapshotContent. To delete one with "+
		"its data: kubectl thalassa orphans delete IDENTITY")
}

// mostStored explains why no volume or snapshot is deleted.
const mostStored = "Most volumes or snapshots of this cluster in the cloud are not known to Kubernetes. Check that " +
	"this is the right cluster, that no other cluster has the same name or identity in its configuration, and that " +
	"the cluster was not restored from a backup."

// tableOfStored returns volumes and snapshots as a table. Identities are never broken, because people copy them.
func tableOfStored(all []StoredOrphan) terminal.Table {
	table := terminal.Table{Columns: []terminal.Column{{Name: "KIND"}, {Name: "NAME", Least: 12, Shorten: true},
		{Name: "IDENTITY"}, {Name: "SIZE", Number: true}, {Name: "CREATED", Least: 10}, {Name: "STATE", Least: 9},
		{Name: "NOT DELETED", Least: 13}}}
	for _, one := range all {
		size, created := "-", "-"
		if one.Size > 0 {
			size = fmt.Sprintf("%d GiB", one.Size)
		}
		if !one.Created.IsZero() {
			created = one.Created.UTC().Format(time.DateOnly)
		}
		table.Rows = append(table.Rows, []terminal.Cell{{Text: one.Kind}, {Text: one.Name}, {Text: one.Identity},
			{Text: size}, {Text: created}, {Text: cmp.Or(one.State, "-")},
			{Text: cmp.Or(one.Kept, one.Doubt, "-"), Tone: terminal.Caution}})
	}
	return table
}

func (o Orphans) writeServices(to terminal.Terminal, wide bool) {
	switch {
	case len(o.Orphans) == 0 && o.within != "":
		to.Print("No orphan is of the namespace %s.\n", terminal.Clean(o.within))
		return
	case len(o.Orphans) == 0:
		to.Print("%s\n", to.Paint(terminal.Good, "Every object of this cluster in the cloud belongs to a Service."))
		return
	}
	to.PrintTable(tableOf(o.Orphans, wide))
	to.Print("\n")
	if wide {
		for _, one := range o.Orphans {
			to.Indented(0, "", terminal.Strong, "Service "+one.service())
			writeObjects(to, terminal.Plain, one.Objects)
			to.Print("\n")
		}
	}
	if o.Most {
		to.Indented(0, "", terminal.Caution, mostOrphans)
	}
	to.Indented(0, "", terminal.Plain, "To delete objects: kubectl thalassa orphans delete UID")
}

// mostOrphans explains why nothing is deleted.
const mostOrphans = "Most objects of this cluster in the cloud belong to no Service. Check that this is the right " +
	"cluster, that no other cluster has the same name or identity in its configuration, and that the cluster was " +
	"not restored from a backup."

// writeObjects writes one line for each object, with its identity.
func writeObjects(to terminal.Terminal, tone terminal.Tone, objects []OrphanObject) {
	for _, one := range objects {
		to.Indented(4, "- ", tone, fmt.Sprintf("%s %s (%s)", one.Kind, one.Name, one.Identity))
	}
}

// tableOf returns orphans as a table. UIDs are never broken, because people copy them. With wide, the objects are not
// in the table, and their states are.
func tableOf(orphans []Orphan, wide bool) terminal.Table {
	table := terminal.Table{Columns: []terminal.Column{{Name: "SERVICE", Least: 12, Shorten: true}, {Name: "UID"},
		{Name: "OBJECTS", Least: 10}, {Name: "KEPT BECAUSE", Least: 13}}}
	if wide {
		table.Columns[2] = terminal.Column{Name: "STATE", Least: 10}
	}
	for _, one := range orphans {
		tone := terminal.Plain
		if one.Retained || one.Incomplete || one.Doubt != "" {
			tone = terminal.Caution
		}
		third := one.objects()
		if wide {
			third = one.states()
		}
		table.Rows = append(table.Rows, []terminal.Cell{{Text: one.service()}, {Text: one.UID}, {Text: third},
			{Text: one.Why, Tone: tone}})
	}
	return table
}

// service is "namespace/name".
func (o Orphan) service() string {
	return cmp.Or(o.Namespace, "(unknown)") + "/" + cmp.Or(o.Name, "(unknown)")
}

// objects is "1 load balancer, 2 target groups".
func (o Orphan) objects() string {
	var kinds []string
	number := map[string]int{}
	for _, one := range o.Objects {
		if number[one.Kind]++; number[one.Kind] == 1 {
			kinds = append(kinds, one.Kind)
		}
	}
	for i, kind := range kinds {
		kinds[i] = count(number[kind], kind)
	}
	return strings.Join(kinds, ", ")
}

// states are the cloud's states of the objects.
func (o Orphan) states() string {
	var states []string
	for _, one := range o.Objects {
		if one.State != "" {
			states = append(states, one.State)
		}
	}
	slices.Sort(states)
	return strings.Join(slices.Compact(states), ", ")
}

// OrphanDeletion is the result of the command orphans delete.
type OrphanDeletion struct {
	Header  `json:",inline"`
	Orphans []DeletedOrphan `json:"orphans"`
	Stored  []DeletedStored `json:"stored,omitempty"`
}

// DeletedStored is a volume or snapshot that was to be deleted.
type DeletedStored struct {
	StoredOrphan `json:",inline"`
	// Deleted means that the cloud deletes it, which takes some time, or that it does not exist any more.
	Deleted bool `json:"deleted"`
	// Error is why it was not deleted.
	Error string `json:"error,omitempty"`
}

// DeletedOrphan is an orphan that was to be deleted.
type DeletedOrphan struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
	// Objects are what existed in the cloud before.
	Objects []OrphanObject `json:"objects,omitempty"`
	// Deleted means that nothing of it exists in the cloud any more, except for what Left names.
	Deleted bool   `json:"deleted"`
	Left    string `json:"left,omitempty"`
	// Error is why it was not deleted.
	Error string `json:"error,omitempty"`
}

func (d DeletedStored) write(to terminal.Terminal) {
	if d.Deleted {
		to.Indented(2, "", terminal.Good, d.String()+": deleted")
		return
	}
	to.Indented(2, "", terminal.Bad, d.String()+": not deleted: "+d.Error)
}

// Names returns the UIDs and identities of those that were deleted.
func (o OrphanDeletion) Names() []string {
	var names []string
	for _, one := range o.Orphans {
		if one.Deleted {
			names = append(names, one.UID)
		}
	}
	for _, one := range o.Stored {
		if one.Deleted {
			names = append(names, one.Identity)
		}
	}
	return names
}

// all returns the number of those that were to be deleted, failed that of those that were not.
func (o OrphanDeletion) all() int    { return len(o.Orphans) + len(o.Stored) }
func (o OrphanDeletion) failed() int { return o.all() - len(o.Names()) }

// Write writes one line for each orphan. With wide, its objects are below it.
func (o OrphanDeletion) Write(to terminal.Terminal, wide bool) {
	for _, one := range o.Orphans {
		name := Orphan{Namespace: one.Namespace, Name: one.Name}.service() + " (" + one.UID + ")"
		if one.Deleted {
			to.Indented(2, "", terminal.Good, name+": deleted")
		} else {
			to.Indented(2, "", terminal.Bad, name+": not deleted: "+one.Error)
		}
		if one.Left != "" {
			to.Indented(4, "", terminal.Caution, one.Left)
		}
		if wide {
			writeObjects(to, terminal.Plain, one.Objects)
		}
	}
	for _, one := range o.Stored {
		one.write(to)
	}
	to.Print("Deleted %d of %s.\n", len(o.Names()), count(o.all(), "orphan"))
}
