package storage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/thalassa-cloud/client-go/filters"
	"k8s.io/klog/v2"

	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/client"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/label"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/resource"
	"github.com/thalassa-cloud/thalassa-ccm/src/thalassa/store"
)

// Lists are filtered by the label of the cluster, because an organisation may have many clusters. Objects without this
// label, which a person or the former driver has created, are requested when somebody asks for them by identity, and
// then again with each list, so that all objects in the store are of the same time.

// scope is whose objects are read, and where.
type scope struct {
	cloud   *client.Client
	cluster Cluster
	region  func(context.Context) (string, error)
}

// inRegion returns the filter of all lists, and the region.
func (s scope) inRegion(ctx context.Context) ([]filters.Filter, string, error) {
	region, err := s.region(ctx)
	if err != nil {
		return nil, "", fmt.Errorf("looking up the region: %w", err)
	}
	return []filters.Filter{&filters.FilterKeyValue{Key: filters.FilterRegion, Value: region}}, region, nil
}

// collection is the volumes or the snapshots, which the API returns as Items.
type collection[Item item[T], T any] struct {
	*store.Store[T]
	scope
	kind  string // in errors: "volume"
	path  string
	id    func(T) string
	inUse func(T) bool // reports whether a machine has the object

	// expectations are the names of objects whose creation ended without an answer, and when.
	expectations *store.TTLCache[time.Time]

	mu sync.Mutex
	// others are the identities of objects that a list lacked, and when somebody last asked for them.
	others map[string]time.Time
}

// newCollection returns an empty collection.
func newCollection[Item item[T], T any](kind, path string, of scope, id func(T) string,
	keys func(T) []string) *collection[Item, T] {
	c := &collection[Item, T]{scope: of, kind: kind, path: path, id: id, inUse: func(T) bool { return false },
		expectations: store.NewTTLCache[time.Time](store.AbsentTTL), others: map[string]time.Time{}}
	c.Store = store.New(kind+"s", c.list, id, keys)
	c.Get = c.get
	return c
}

const (
	// maxRequests is how many others are requested one by one. For more, a list of the whole region costs less.
	maxRequests = 10
	// otherTTL is how long an object that no machine has is read with each list after somebody has asked for it.
	otherTTL = time.Hour
)

// list returns the objects of the cluster, and the others that somebody has asked for.
func (c *collection[Item, T]) list(ctx context.Context) ([]T, error) {
	asked := c.asked()
	all, err := c.scan(ctx, asked)
	if err != nil {
		return nil, err
	}
	var objects, others []T
	missing := maps.Clone(asked)
	for _, one := range all {
		delete(missing, c.id(one.object))
		if one.ours {
			objects = append(objects, one.object)
		} else {
			others = append(others, one.object)
		}
	}
	if len(asked) <= maxRequests {
		others = append(others, c.requestEach(ctx, missing)...)
	}
	c.forget(asked, others)
	return append(objects, others...), nil
}

// listed is an object that a list contains.
type listed[T any] struct {
	object T
	ours   bool // it has the label of the cluster
}

// scan reads the list: the objects of the cluster, and the others if there are many.
func (c *collection[Item, T]) scan(ctx context.Context, others map[string]time.Time) ([]listed[T], error) {
	filter, region, err := c.inRegion(ctx)
	if err != nil {
		return nil, err
	}
	if c.cluster.Key != "" && len(others) <= maxRequests {
		filter = append(filter, &filters.LabelFilter{MatchLabels: resource.Labels{label.CSICluster: c.cluster.Key}})
	}
	return client.List(ctx, c.cloud, c.path, filter, func(i Item) (listed[T], bool) {
		// A cloud that ignores the filter returns the objects of all clusters.
		ours := c.cluster.Key == "" || i.labels()[label.CSICluster] == c.cluster.Key
		if _, other := others[i.ObjectID()]; !i.in(region) || !ours && !other {
			return listed[T]{}, false
		}
		return listed[T]{i.object(c.cluster), ours}, true
	})
}

// requestEach returns those of the objects that exist. One whose request fails is left out, so that the list does not
// depend on it; whoever asks for it requests it again, and gets the error.
func (c *collection[Item, T]) requestEach(ctx context.Context, ids map[string]time.Time) []T {
	var all sync.WaitGroup
	var mu sync.Mutex
	var found []T
	for id := range ids {
		all.Go(func() {
			object, exists, err := c.read(ctx, id)
			if err != nil {
				klog.FromContext(ctx).Error(err, "An object without the label of the cluster could not be read",
					"collection", c.path, "identity", id)
			}
			if exists && err == nil {
				mu.Lock()
				defer mu.Unlock()
				found = append(found, object)
			}
		})
	}
	all.Wait()
	return found
}

// asked returns the others and when somebody last asked for them.
func (c *collection[Item, T]) asked() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.others)
}

// ask records that somebody has asked for an object that a list may lack.
func (c *collection[Item, T]) ask(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.others[id] = time.Now()
}

// askAgain is ask for an object that is stored.
func (c *collection[Item, T]) askAgain(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, other := c.others[id]; other {
		c.others[id] = time.Now()
	}
}

// forget removes those of the others that were not found because they have got the label or are gone, and those that
// nobody needs. If one is wrongly removed, it is requested when somebody asks for it.
func (c *collection[Item, T]) forget(asked map[string]time.Time, found []T) {
	needed := map[string]bool{}
	for _, object := range found {
		id := c.id(object)
		needed[id] = c.inUse(object) || time.Since(asked[id]) < otherTTL
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.others, func(id string, last time.Time) bool {
		at, before := asked[id]
		return before && !needed[id] && !last.After(at)
	})
}

// read requests one object.
func (c *collection[Item, T]) read(ctx context.Context, id string) (object T, exists bool, err error) {
	_, region, err := c.inRegion(ctx)
	if err != nil {
		return object, false, err
	}
	return store.GetOne(ctx, c.cloud, c.path, id, func(i Item) (T, bool) { return i.object(c.cluster), i.in(region) })
}

// get is read for an object that a list lacks.
func (c *collection[Item, T]) get(ctx context.Context, id string) (object T, exists bool, err error) {
	object, exists, err = c.read(ctx, id)
	if exists && err == nil {
		c.ask(id)
	}
	return object, exists, err
}

// request is read for an identity of Kubernetes, which may be anything. It stores the object.
func (c *collection[Item, T]) request(ctx context.Context, id string) (object T, exists bool, err error) {
	_, region, err := c.inRegion(ctx)
	if err != nil {
		return object, false, err
	}
	readNumber := c.BeginRead()
	object, exists, err = store.ByID(ctx, c.cloud, c.path, id,
		func(i Item) (T, bool) { return i.object(c.cluster), i.in(region) })
	if exists && err == nil {
		c.PutFetched(object, readNumber)
	}
	return object, exists, err
}

// byID returns the object with the identity, from a list at most maxAge old, or by a request. That there is none is the
// result of two lists and a request, because "not found" ends the life of a PersistentVolume and any of them may come
// from an outdated server. It is cached for a minute, unless maxAge is Fresh.
func (c *collection[Item, T]) byID(ctx context.Context, id string, maxAge time.Duration) (object T, found bool,
	err error) {
	if id == "" || strings.ContainsAny(id, "/?#%") {
		return object, false, nil // not an identity, but perhaps a key of the index
	}
	stored, err := c.Find(ctx, id, maxAge)
	switch {
	case err != nil:
		return object, false, err
	case len(stored) > 0:
		c.askAgain(id)
		return stored[0], true, nil
	case maxAge != Fresh && c.RecentlyAbsent(id):
		return object, false, nil
	}
	if object, found, err = c.request(ctx, id); found {
		c.ask(id)
	}
	if found || err != nil {
		return object, found, err
	}
	stored, err = c.LookUp(ctx, []string{id}, maxAge)
	if err != nil || len(stored) == 0 {
		return object, false, err
	}
	return stored[0], true, nil
}

// anyNamed returns the objects of the region with the name, with and without the label of the cluster, by a request.
// They are stored, so that the next lookup of the name finds them.
func (c *collection[Item, T]) anyNamed(ctx context.Context, name string) ([]T, error) {
	readNumber := c.BeginRead()
	found, err := c.filtered(ctx, filters.FilterName, name, func(i Item) bool { return i.title() == name })
	for _, object := range found {
		c.PutFetched(object, readNumber)
	}
	return found, err
}

// filtered returns the objects of the region that a filter of the API selects. matches checks them, because the cloud
// may ignore the filter.
func (c *collection[Item, T]) filtered(ctx context.Context, key filters.FilterKey, value string,
	matches func(Item) bool) ([]T, error) {
	filter, region, err := c.inRegion(ctx)
	if err != nil {
		return nil, err
	}
	filter = append(filter, &filters.FilterKeyValue{Key: key, Value: value})
	return client.List(ctx, c.cloud, c.path, filter,
		func(i Item) (T, bool) { return i.object(c.cluster), i.in(region) && matches(i) })
}

// ErrUncertain says that an object may exist that lists do not contain yet.
var ErrUncertain = errors.New("its creation ended without an answer, so it may exist already")

// named returns the objects with the name, unless one may exist that lists do not contain yet. One whose creation ended
// without an answer is requested by its name alone, because the cloud may find its labels late.
func (c *collection[Item, T]) named(ctx context.Context, name string, maxAge time.Duration) ([]T, error) {
	at, expected := c.expectations.Get(name)
	if !expected {
		return c.Find(ctx, nameKey(name), maxAge)
	}
	found, err := c.anyNamed(ctx, name)
	if err != nil || len(found) > 0 {
		return found, err
	}
	if left := store.VisibilityDelay - time.Since(at); left > 0 {
		return nil, fmt.Errorf("%s %s: %w; it is looked for again for %s", c.kind, name, ErrUncertain,
			left.Round(time.Second))
	}
	return nil, nil
}

// A write that failed may still have been carried out, so the store is then invalidated. Deleting an object that does
// not exist is a success.

// create creates an object with the name. complete adds to it what the answer may lack.
func (c *collection[Item, T]) create(ctx context.Context, name string, body any, complete func(T) T) (object T,
	err error) {
	created, err := client.Post[Item](ctx, c.cloud, c.path, body)
	if err = store.RequireIdentity(err, created.ObjectID(), c.kind+" "+name); err != nil {
		if client.Uncertain(err) {
			c.expectations.Put(name, time.Now())
		}
		return object, c.WriteError(err)
	}
	object = complete(created.object(c.cluster))
	c.PutCreated(object)
	return object, nil
}

// remove deletes an object, which takes the cloud some time. It is stored as it is meanwhile.
func (c *collection[Item, T]) remove(ctx context.Context, deleting T) error {
	id := c.id(deleting)
	err := client.Delete(ctx, c.cloud, c.path+"/"+id)
	switch {
	case store.IsGone(err):
		c.Drop(id)
		return nil
	case err != nil:
		return c.WriteError(err)
	}
	c.Put(deleting)
	return nil
}
