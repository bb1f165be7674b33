package declaration

import (
	"net/http"
	"strings"
	"testing"
)

// A bucket is created, and read by its identity until it is ready; all else names it. What does not change is empty or
// absent. The provider allows names of 63 characters.
func TestTerraformBucket(t *testing.T) {
	replay(t, func(c *tool) {
		name := strings.Repeat("b", 56) + ".bucket"
		path := "/v1/object-storage/buckets/" + name
		byIdentity := c.ensure("/v1/object-storage/buckets", values{"bucketName": name, "public": false,
			"region": "nl-01", "versioning": "Disabled", "objectLockEnabled": false})
		c.reads(byIdentity, values{"status": "ready"})
		want := values{"name": name, "public": false, "cloudRegion.slug": "nl-01", "policy": nil,
			"versioning": "Disabled", "objectLockEnabled": false, "status": "ready"}
		c.shows(path, want, "identity", "endpoint")
		policy := values{"Version": "2012-10-17", "Statement": []values{{"Sid": "read", "Effect": "Allow",
			"Principal": values{"Thalassa": "*"}, "Action": []string{"s3:GetObject"},
			"Resource":  []string{"arn:thalassa:s3:::" + name + "/*"},
			"Condition": values{"StringEquals": values{"thalassa:User": "u"}}}}}
		for _, change := range []values{{"versioning": "Enabled"}, {"policy": policy}, {"versioning": "Suspended"},
			{"objectLockEnabled": true}} {
			c.put(path, merged(values{"public": false, "versioning": "", "objectLockEnabled": nil}, change))
			want = merged(want, change)
			c.shows(path, want)
		}
		c.vanishes(path)
	})
}

// A lifecycle is replaced as a whole. Rules about old versions are for buckets with versions only, which is read first.
func TestTerraformBucketLifecycle(t *testing.T) {
	replay(t, func(c *tool) {
		const bucket, path = "/v1/object-storage/buckets/acc", "/v1/object-storage/buckets/acc/lifecycle"
		c.ensure("/v1/object-storage/buckets", values{"bucketName": "acc", "public": false, "region": "nl-01",
			"versioning": "Enabled", "objectLockEnabled": false})
		c.expect(http.MethodGet, path, nil, http.StatusNotFound)
		for _, rules := range [][]values{
			{{"id": "expire", "prefix": "logs/", "status": "Enabled", "expiration": values{"days": 30}}},
			{{"id": "expire", "prefix": "logs/", "status": "Enabled", "expiration": values{"days": 60}}},
			{{"id": "old", "prefix": "archive/", "status": "Enabled",
				"noncurrentVersionExpiration": values{"noncurrentDays": 7}}},
		} {
			c.reads(bucket, values{"versioning": "Enabled"})
			c.put(path, values{"rules": rules})
			c.reads(path, values{"rules": rules})
		}
		c.vanishes(path)
		c.vanishes(bucket)
	})
}
