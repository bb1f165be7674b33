package api

import (
	"cmp"
	"net/http"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/apierror"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/bucket"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/object"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/state"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

const buckets = "/v1/object-storage/buckets"

func (srv *Server) bucketOperations() map[string]handler {
	all := srv.buckets().Operations()
	all["GET "+buckets+"/{id}/lifecycle"] = srv.getLifecycle
	all["PUT "+buckets+"/{id}/lifecycle"] = srv.setLifecycle
	all["DELETE "+buckets+"/{id}/lifecycle"] = srv.deleteLifecycle
	return served(srv, all, func(c *call) space { return c.org })
}

func (srv *Server) buckets() resource.Kind[space, *state.Bucket, wire.BucketInput] {
	return resource.Kind[space, *state.Bucket, wire.BucketInput]{
		Name: "bucket", Prefix: "bucket", Path: buckets, Single: true, Partial: true,
		Meta: func(in *wire.BucketInput) wire.MetaInput {
			return wire.MetaInput{Name: in.BucketName, Labels: in.Labels, Annotations: in.Annotations}
		},
		Longest: object.Lengths{Name: bucket.LongestName, NameField: "bucketName"},
		Among: func(o space, _ *resource.Request) (*object.Collection[*state.Bucket], error) {
			return &o.Buckets, nil
		},
		New: srv.newBucket,
		Change: func(_ space, r *resource.Request, b *state.Bucket, record object.Record, _ *wire.BucketInput) error {
			initial := bucket.DefaultSettings()
			initial.ObjectLockEnabled = b.Settings.ObjectLockEnabled // a bucket never loses it by omission
			settings, err := bucketSettings(r, resource.Base(r, b.Settings, initial))
			if err != nil {
				return err
			}
			record.Name = b.Name
			b.Record, b.Settings = record, settings
			return nil
		},
		View: func(_ space, _ *resource.Request, b *state.Bucket) any { return b.View() },
		Traits: func(_ space, _ *resource.Request, has object.Traits, b *state.Bucket) object.Traits {
			return b.Traits(has)
		},
	}
}

func (srv *Server) newBucket(o space, r *resource.Request, record object.Record,
	in *wire.BucketInput) (*state.Bucket, error) {
	if err := srv.Store.CheckBucketName(record.Name); err != nil {
		return nil, err
	}
	home, found := srv.Store.Regions.Find(in.Region)
	if !found {
		return nil, apierror.Invalid("field \"region\": region %q not found", in.Region)
	}
	settings, err := bucketSettings(r, bucket.DefaultSettings())
	if err != nil {
		return nil, err
	}
	if in.Lifecycle != nil {
		if err := bucket.CheckLifecycle(in.Lifecycle); err != nil {
			return nil, err
		}
	}
	if err := o.Admit(state.QuotaBuckets); err != nil {
		return nil, err
	}
	record.Slug = record.Name
	return &state.Bucket{Record: record, Org: o, Region: home, Settings: settings, Lifecycle: in.Lifecycle}, nil
}

func bucketSettings(r *resource.Request, before wire.BucketSettings) (wire.BucketSettings, error) {
	next, err := resource.Overlay(r, before)
	if err != nil {
		return next, err
	}
	// The official client sends an empty text when this does not change.
	next.Versioning = cmp.Or(next.Versioning, before.Versioning)
	return next, bucket.CheckSettings(next)
}

func (srv *Server) getLifecycle(o space, r *resource.Request) (resource.Answer, error) {
	b, err := srv.buckets().Named(o, r)
	if err != nil {
		return resource.Answer{}, err
	}
	if b.Lifecycle == nil {
		return resource.Answer{}, apierror.Missing("bucket %q has no lifecycle", b.Name)
	}
	return resource.Answer{Status: http.StatusOK, Body: b.Lifecycle}, nil
}

func (srv *Server) setLifecycle(o space, r *resource.Request) (resource.Answer, error) {
	b, err := srv.buckets().Named(o, r)
	if err != nil {
		return resource.Answer{}, err
	}
	in, err := resource.Decode[wire.BucketLifecycle](r)
	if err != nil {
		return resource.Answer{}, err
	}
	if err := bucket.CheckLifecycle(in); err != nil {
		return resource.Answer{}, err
	}
	b.Lifecycle = in
	b.Touch(r.Now)
	return resource.Answer{Status: http.StatusOK, Body: in, Identity: b.Identity}, nil
}

func (srv *Server) deleteLifecycle(o space, r *resource.Request) (resource.Answer, error) {
	b, err := srv.buckets().Named(o, r)
	if err != nil {
		return resource.Answer{}, err
	}
	if b.Lifecycle != nil {
		b.Lifecycle = nil
		b.Touch(r.Now)
	}
	return resource.Answer{Status: http.StatusNoContent, Identity: b.Identity}, nil
}
