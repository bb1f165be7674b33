package emulator_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/thalassa-cloud/client-go/objectstorage"
	vendor "github.com/thalassa-cloud/client-go/pkg/client"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator"
)

const buckets = "/v1/object-storage/buckets"

func TestBucketsOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	api := c.vendorClient(t).ObjectStorage()
	policy := &objectstorage.PolicyDocument{Version: "2012-10-17", Statement: []objectstorage.Statement{{
		Effect: "Allow", Principal: objectstorage.Principal{Thalassa: "*"}, Action: []any{"s3:GetObject"},
		Resource: []string{"arn:thalassa:s3:::my.bucket/*"},
	}}}
	made, err := api.CreateBucket(t.Context(), objectstorage.CreateBucketRequest{
		BucketName: "my.bucket", Region: "nl-01", Labels: map[string]string{"a": "b"}, PolicyDocument: policy,
	})
	if err != nil || made.Name != "my.bucket" || made.Status != "ready" || made.Versioning != "Disabled" ||
		made.Region.Slug != "nl-01" {
		t.Fatalf("%+v, %v", made, err)
	}
	if diff := cmp.Diff(*policy, made.Policy); diff != "" {
		t.Errorf("policy (-want +got):\n%s", diff)
	}
	changed, err := api.UpdateBucket(t.Context(), "my.bucket", objectstorage.UpdateBucketRequest{Public: true,
		Versioning: objectstorage.ObjectStorageBucketVersioningEnabled})
	if err != nil || !changed.Public || changed.Versioning != "Enabled" || changed.Labels["a"] != "b" ||
		len(changed.Policy.Statement) != 1 || changed.Name != "my.bucket" {
		t.Errorf("changed %+v, %v, want what was not sent as it was", changed, err)
	}
	for _, ref := range []string{"my.bucket", made.Identity} {
		if got, err := api.GetBucket(t.Context(), ref); err != nil || got.Identity != made.Identity || !got.Public {
			t.Errorf("bucket %s: %+v, %v", ref, got, err)
		}
	}
	if err := api.DeleteBucket(t.Context(), "my.bucket"); err != nil {
		t.Fatal(err)
	}
	if all, err := api.ListBuckets(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("buckets %+v, %v, want none", all, err)
	}
	if _, err := api.GetBucket(t.Context(), "my.bucket"); !vendor.IsNotFound(err) {
		t.Errorf("a deleted bucket: %v, want not found", err)
	}
}

func TestLifecyclesOfTheOfficialClient(t *testing.T) {
	c := newCloud(t)
	api := c.vendorClient(t).ObjectStorage()
	days := int64(30)
	rules := []objectstorage.BucketLifecycleRule{{ID: "old", Status: "Disabled",
		Filter: &objectstorage.BucketLifecycleRuleFilter{And: &objectstorage.BucketLifecycleRuleAndOperator{
			Prefix: "logs/", Tags: []objectstorage.BucketLifecycleRuleTag{{Key: "k", Value: "v"}},
			ObjectSizeLessThan: &days}},
		Expiration:  &objectstorage.BucketLifecycleRuleExpiration{Days: &days},
		Transitions: []objectstorage.BucketLifecycleRuleTransition{{Days: &days, StorageClass: "COLD"}},
		NoncurrentVersionExpiration: &objectstorage.BucketLifecycleRuleNoncurrentVersionExpiration{
			NoncurrentDays: &days},
		AbortIncompleteMultipartUpload: &objectstorage.BucketLifecycleRuleAbortIncompleteMultipartUpload{
			DaysAfterInitiation: &days},
	}}
	expect := func(when string, want []objectstorage.BucketLifecycleRule) {
		t.Helper()
		got, err := api.GetBucketLifecycle(t.Context(), "bin")
		if want == nil {
			if !vendor.IsNotFound(err) {
				t.Errorf("%s: %+v, %v, want not found", when, got, err)
			}
			return
		}
		if diff := cmp.Diff(want, got.Rules); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", when, err, diff)
		}
	}
	if _, err := api.CreateBucket(t.Context(), objectstorage.CreateBucketRequest{BucketName: "bin", Region: "nl-01",
		Lifecycle: &objectstorage.SetBucketLifecycleRequest{Rules: rules}}); err != nil {
		t.Fatal(err)
	}
	expect("created with it", rules)
	next := []objectstorage.BucketLifecycleRule{{ID: "next", Status: "Enabled", Expiration: rules[0].Expiration}}
	set, err := api.SetBucketLifecycle(t.Context(), "bin", objectstorage.SetBucketLifecycleRequest{Rules: next})
	if err != nil || len(set.Rules) != 1 {
		t.Fatalf("%+v, %v", set, err)
	}
	expect("set", next)
	if bucket, err := api.GetBucket(t.Context(), "bin"); err != nil || bucket.Lifecycle == nil ||
		bucket.Lifecycle.Rules[0].ID != "next" {
		t.Errorf("bucket %+v, %v, want its lifecycle in it", bucket, err)
	}
	if err := api.DeleteBucketLifecycle(t.Context(), "bin"); err != nil {
		t.Fatal(err)
	}
	expect("deleted", nil)
}

func TestBucketRequests(t *testing.T) {
	const lifecycle = buckets + "/bin/lifecycle"
	e := newEmulator(t, withProject)
	play(t, e, []step{
		{request: "POST " + buckets, body: `{"bucketName":"bin","region":"nl-01"}`, status: 201},
		{request: "POST " + buckets, body: `{"bucketName":"bin","region":"nl-01"}`, status: 409},
		{request: "POST " + buckets + "?project=shop", body: `{"bucketName":"bin","region":"nl-01"}`, status: 409},
		{request: "POST " + buckets + "?project=shop", body: `{"bucketName":"own","region":"nl-01"}`, status: 201},
		{request: "GET " + buckets, status: 200, has: []string{`"name":"bin"`, `!"name":"own"`}},
		{request: "GET " + buckets + "?region=nl-02", status: 200, has: []string{`!"name"`}},
		{request: "PUT " + buckets + "/bin", body: `{"bucketName":"other"}`, status: 200,
			has: []string{`"name":"bin"`}},
		{request: "PUT " + buckets + "/bin", body: `{"versioning":"odd"}`, status: 400},
		{request: "PUT " + lifecycle, body: `{"rules":[]}`, status: 400},
		{request: "PUT " + lifecycle, body: `{"rules":[{"expiration":{"days":1}}]}`, status: 400,
			has: []string{"rules[0].id"}},
		{request: "PUT " + lifecycle, body: `{"rules":[{"id":"a"}]}`, status: 400, has: []string{"does nothing"}},
		{request: "PUT " + lifecycle, body: `{"rules":[{"id":"a","status":"odd","expiration":{}}]}`, status: 400},
		{request: "PUT " + lifecycle, body: `{"rules":[{"id":"a","expiration":{}},{"id":"a","expiration":{}}]}`,
			status: 400},
		{request: "GET " + lifecycle, status: 404},
		{request: "GET " + buckets + "/none/lifecycle", status: 404},
		{request: "PUT /_emulator/quotas/buckets", body: `{"maxUsage":2}`, status: 204},
		{request: "POST " + buckets, body: `{"bucketName":"third","region":"nl-01"}`, status: 403},
	})
	for want, body := range map[string]string{
		"bucketName": `{"bucketName":"No Capitals","region":"nl-01"}`, "region": `{"bucketName":"third","region":"x"}`,
		"Effect":   `{"bucketName":"third","region":"nl-01","policy":{"Statement":[{"Effect":"odd"}]}}`,
		"Resource": `{"bucketName":"third","region":"nl-01","policy":{"Statement":[{"Effect":"Deny","Action":"*"}]}}`,
		"rules":    `{"bucketName":"third","region":"nl-01","lifecycle":{"rules":[]}}`,
	} {
		play(t, e, []step{{request: "POST " + buckets, body: body, status: 400, has: []string{want}}})
	}
}

// TestErrorsAboutNamesOfBuckets have the key that bodies have, and not that of other kinds.
func TestErrorsAboutNamesOfBuckets(t *testing.T) {
	const key = `field \"bucketName\"`
	e := newEmulator(t, func(cfg *emulator.Config) { cfg.Switches.UniqueNames = true })
	play(t, e, []step{
		{request: "POST " + buckets, body: `{"region":"nl-01"}`, status: 400,
			has: []string{key + " must have 1 to 63"}},
		{request: "POST " + buckets, body: `{"bucketName":"` + strings.Repeat("b", 64) + `","region":"nl-01"}`,
			status: 400, has: []string{key + " must have 1 to 63"}},
		{request: "POST " + buckets, body: `{"bucketName":"bin","region":"nl-01"}`, status: 201},
		{request: "POST " + buckets, body: `{"bucketName":"bin","region":"nl-01"}`, status: 409,
			has: []string{key + ": bucket "}},
		{request: "PUT " + buckets + "/bin", body: `{"bucketName":""}`, status: 400, has: []string{key}},
	})
}

func TestClientKnowsBuckets(t *testing.T) {
	c := newCloud(t)
	c.object(t, "POST", buckets, `{"bucketName":"bin","region":"nl-01","labels":{"a":"b"},"annotations":{"a":"b"},`+
		`"policy":{"Version":"1","Statement":[]},"lifecycle":{"rules":[{"id":"a","expiration":{"days":1}}]}}`, 201)
	c.knowsEveryKey(t, buckets, &[]objectstorage.ObjectStorageBucket{})
	c.knowsEveryKey(t, buckets+"/bin/lifecycle", &objectstorage.BucketLifecycle{})
}
