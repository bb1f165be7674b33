// Package bucket provides what buckets of the object storage can be: their settings and lifecycles.
package bucket

import (
	"cmp"
	"fmt"

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
	for i, statement := range b.Policy.Statement {
		at := fmt.Sprintf("policy.Statement[%d]", i)
		if err := object.OneOf(at+".Effect", statement.Effect, "Allow", "Deny"); err != nil {
			return err
		}
		if statement.Action == nil || len(statement.Resource) == 0 {
			return apierror.Invalid("field %q must have an Action and a Resource", at)
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
		rule, at := &l.Rules[i], fmt.Sprintf("rules[%d]", i)
		rule.Status = cmp.Or(rule.Status, "Enabled")
		if err := object.OneOf(at+".status", rule.Status, "Enabled", "Disabled"); err != nil {
			return err
		}
		switch {
		case rule.ID == "" || known[rule.ID]:
			return apierror.Invalid("field \"%s.id\" must be there and be unique, not be %q", at, rule.ID)
		case rule.Expiration == nil && len(rule.Transitions) == 0 && rule.NoncurrentExpiration == nil &&
			len(rule.NoncurrentTransitions) == 0 && rule.AbortUpload == nil:
			return apierror.Invalid("field %q: rule %q does nothing; give it an expiration, a transition or "+
				"abortIncompleteMultipartUpload", at, rule.ID)
		}
		if err := cmp.Or(checkTransitions(at, rule), checkTags(at+".filter", rule.Filter)); err != nil {
			return err
		}
		known[rule.ID] = true
	}
	return nil
}

// checkTags refuses tags without a key.
func checkTags(at string, f *wire.LifecycleFilter) error {
	switch {
	case f == nil:
		return nil
	case f.Tag != nil && f.Tag.Key == "":
		return apierror.Invalid("field \"%s.tag.key\" is required", at)
	case f.And == nil:
		return nil
	}
	for i, tag := range f.And.Tags {
		if tag.Key == "" {
			return apierror.Invalid("field \"%s.and.tags[%d].key\" is required", at, i)
		}
	}
	return nil
}

// checkTransitions refuses transitions that lead nowhere.
func checkTransitions(at string, rule *wire.LifecycleRule) error {
	for i, t := range rule.Transitions {
		if t.StorageClass == "" {
			return apierror.Invalid("field \"%s.transitions[%d].storageClass\" is required", at, i)
		}
	}
	for i, t := range rule.NoncurrentTransitions {
		if t.StorageClass == "" {
			return apierror.Invalid("field \"%s.noncurrentVersionTransitions[%d].storageClass\" is required", at, i)
		}
	}
	return nil
}
