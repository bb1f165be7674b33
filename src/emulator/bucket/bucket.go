// Package bucket provides what buckets of the object storage can be: their settings and lifecycles.
package bucket

import (
	"cmp"
	"slices"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// LongestName is how many characters the name of a bucket can have.
const LongestName = 63

// DefaultSettings are those of a bucket whose creator chose none.
func DefaultSettings() wire.BucketSettings { return wire.BucketSettings{Versioning: "Disabled"} }

// CheckSettings checks the settings of a new or changed bucket.
func CheckSettings(b wire.BucketSettings) error {
	if err := object.OneOf("versioning", b.Versioning, "Disabled", "Enabled", "Suspended"); err != nil {
		return err
	}
	if b.Policy == nil {
		return nil
	}
	for _, statement := range b.Policy.Statement {
		if err := object.OneOf("policy.Statement.Effect", statement.Effect, "Allow", "Deny"); err != nil {
			return err
		}
		if statement.Action == nil || len(statement.Resource) == 0 {
			return apierror.Invalid("field \"policy.Statement\" must have an Action and a Resource in each " +
				"element")
		}
	}
	return nil
}

// CheckLifecycle completes and checks the rules of a lifecycle.
func CheckLifecycle(l *wire.BucketLifecycle) error {
	if len(l.Rules) == 0 {
		return apierror.Invalid("field \"rules\" must have at least one rule; delete the lifecycle to have none")
	}
	known := map[string]bool{}
	for i := range l.Rules {
		rule := &l.Rules[i]
		rule.Status = cmp.Or(rule.Status, "Enabled")
		if err := object.OneOf("rules.status", rule.Status, "Enabled", "Disabled"); err != nil {
			return err
		}
		switch {
		case rule.ID == "" || known[rule.ID]:
			return apierror.Invalid("field \"rules.id\" must be there and be unique, not be %q", rule.ID)
		case rule.Expiration == nil && len(rule.Transitions) == 0 && rule.NoncurrentExpiration == nil &&
			len(rule.NoncurrentTransitions) == 0 && rule.AbortUpload == nil:
			return apierror.Invalid("field \"rules\": rule %q does nothing; give it an expiration, a transition or "+
				"abortIncompleteMultipartUpload", rule.ID)
		}
		if err := cmp.Or(checkTransitions(rule), checkTags(rule.Filter)); err != nil {
			return err
		}
		known[rule.ID] = true
	}
	return nil
}

// checkTags refuses tags without a key.
func checkTags(f *wire.LifecycleFilter) error {
	unnamed := func(tag wire.LifecycleTag) bool { return tag.Key == "" }
	switch {
	case f == nil:
		return nil
	case f.Tag != nil && unnamed(*f.Tag):
		return apierror.Invalid("field \"rules.filter.tag.key\" is required")
	case f.And != nil && slices.ContainsFunc(f.And.Tags, unnamed):
		return apierror.Invalid("field \"rules.filter.and.tags.key\" is required")
	}
	return nil
}

// checkTransitions refuses transitions that lead nowhere.
func checkTransitions(rule *wire.LifecycleRule) error {
	for _, t := range rule.Transitions {
		if t.StorageClass == "" {
			return apierror.Invalid("field \"rules.transitions.storageClass\" is required")
		}
	}
	for _, t := range rule.NoncurrentTransitions {
		if t.StorageClass == "" {
			return apierror.Invalid("field \"rules.noncurrentVersionTransitions.storageClass\" is required")
		}
	}
	return nil
}
