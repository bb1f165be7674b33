package wire

import "time"

// Bucket is a bucket of the object storage. It has no slug and no description.
type Bucket struct {
	Identity     string            `json:"identity"`
	Organisation *Organisation     `json:"organisation,omitempty"`
	CreatedAt    time.Time         `json:"createdAt"`
	UpdatedAt    time.Time         `json:"updatedAt"`
	Labels       map[string]string `json:"labels,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Name         string            `json:"name"`
	Status       string            `json:"status"`
	Endpoint     string            `json:"endpoint"`
	Usage        BucketUsage       `json:"usage"`
	Region       *Region           `json:"cloudRegion,omitempty"`
	BucketSettings
	Lifecycle *BucketLifecycle `json:"lifecycle,omitempty"`
}

// BucketUsage is what a bucket contains. Its keys have a style of their own.
type BucketUsage struct {
	TotalSizeGB  float64 `json:"total_size_gb"`
	TotalObjects int64   `json:"total_objects"`
}

// BucketSettings are settings with the same keys in requests and answers.
type BucketSettings struct {
	Policy *BucketPolicy `json:"policy,omitempty"`
	Public bool          `json:"public"`
	// Versioning is Disabled, Enabled or Suspended.
	Versioning        string `json:"versioning"`
	ObjectLockEnabled bool   `json:"objectLockEnabled"`
}

// BucketInput is the body of POST and PUT on buckets, besides BucketSettings. PUT reads labels and annotations only.
type BucketInput struct {
	BucketName  *string           `json:"bucketName"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Region      string            `json:"region"`
	Lifecycle   *BucketLifecycle  `json:"lifecycle"`
}

// BucketPolicy is who may do what with a bucket. Its keys begin with capital letters.
type BucketPolicy struct {
	Version   string            `json:"Version"`
	Statement []BucketStatement `json:"Statement"`
}

// BucketStatement is a rule of a policy.
type BucketStatement struct {
	Sid string `json:"Sid,omitempty"`
	// Effect is Allow or Deny.
	Effect    string          `json:"Effect"`
	Principal BucketPrincipal `json:"Principal"`
	// Action is a text or a list of texts.
	Action    any      `json:"Action"`
	Resource  []string `json:"Resource"`
	Condition any      `json:"Condition,omitempty"`
}

// BucketPrincipal is whom a rule is about: texts or lists of texts.
type BucketPrincipal struct {
	AWS      any `json:"AWS,omitempty"`
	Thalassa any `json:"Thalassa,omitempty"`
}

// BucketLifecycle is what happens to objects as they get older.
type BucketLifecycle struct {
	Rules []LifecycleRule `json:"rules"`
}

// LifecycleRule is a rule of a lifecycle.
type LifecycleRule struct {
	ID     string           `json:"id"`
	Prefix string           `json:"prefix,omitempty"`
	Filter *LifecycleFilter `json:"filter,omitempty"`
	// Status is Enabled or Disabled.
	Status      string                `json:"status,omitempty"`
	Expiration  *LifecycleExpiration  `json:"expiration,omitempty"`
	Transitions []LifecycleTransition `json:"transitions,omitempty"`

	NoncurrentExpiration  *NoncurrentExpiration  `json:"noncurrentVersionExpiration,omitempty"`
	NoncurrentTransitions []NoncurrentTransition `json:"noncurrentVersionTransitions,omitempty"`
	AbortUpload           *AbortUpload           `json:"abortIncompleteMultipartUpload,omitempty"`
}

// LifecycleFilter is which objects a rule is about.
type LifecycleFilter struct {
	LifecycleSizes
	Prefix string        `json:"prefix,omitempty"`
	Tag    *LifecycleTag `json:"tag,omitempty"`
	And    *LifecycleAnd `json:"and,omitempty"`
}

// LifecycleAnd are conditions that must all hold.
type LifecycleAnd struct {
	LifecycleSizes
	Prefix string         `json:"prefix,omitempty"`
	Tags   []LifecycleTag `json:"tags,omitempty"`
}

// LifecycleSizes are limits of the sizes of objects.
type LifecycleSizes struct {
	GreaterThan *int64 `json:"objectSizeGreaterThan,omitempty"`
	LessThan    *int64 `json:"objectSizeLessThan,omitempty"`
}

// LifecycleTag is a tag of objects.
type LifecycleTag struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// LifecycleExpiration is when objects expire.
type LifecycleExpiration struct {
	Days         *int64     `json:"days,omitempty"`
	Date         *time.Time `json:"date,omitempty"`
	DeleteMarker *bool      `json:"expiredObjectDeleteMarker,omitempty"`
}

// LifecycleTransition is when objects move to another storage class.
type LifecycleTransition struct {
	Days         *int64     `json:"days,omitempty"`
	Date         *time.Time `json:"date,omitempty"`
	StorageClass string     `json:"storageClass"`
}

// NoncurrentExpiration is when old versions of objects expire.
type NoncurrentExpiration struct {
	Days *int64 `json:"noncurrentDays,omitempty"`
}

// NoncurrentTransition is when old versions of objects move to another storage class.
type NoncurrentTransition struct {
	Days         *int64 `json:"noncurrentDays,omitempty"`
	StorageClass string `json:"storageClass"`
}

// AbortUpload is when uploads that were not completed end.
type AbortUpload struct {
	Days *int64 `json:"daysAfterInitiation,omitempty"`
}
