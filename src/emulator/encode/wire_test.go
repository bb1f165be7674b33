package encode_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/tier"
	"github.com/thalassa-cloud/thalassa-ccm/src/emulator/wire"
)

// fill sets everything within reach, to values that differ, and leaves out every
// n-th optional part.
type fill struct{ n, count int }

func (f *fill) value(v reflect.Value, depth int) {
	f.count++
	switch v.Kind() {
	case reflect.Pointer:
		if depth > 0 && f.count%f.n != 0 {
			v.Set(reflect.New(v.Type().Elem()))
			f.value(v.Elem(), depth-1)
		}
	case reflect.Struct:
		f.structure(v, depth)
	case reflect.Slice:
		if depth > 0 && f.count%f.n != 0 {
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			f.value(v.Index(0), depth-1)
			f.value(v.Index(1), depth-1)
		}
	case reflect.Map:
		if f.count%f.n != 0 {
			v.Set(reflect.ValueOf(map[string]string{"z/é": "<1>", "a": fmt.Sprint(f.count), "": "\n"}))
		}
	case reflect.String:
		v.SetString(fmt.Sprintf("text & %d", f.count))
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.count%100 - 50))
	case reflect.Uint32:
		v.SetUint(uint64(f.count))
	case reflect.Bool:
		v.SetBool(f.count%2 == 0)
	case reflect.Interface:
		v.Set(reflect.ValueOf(f.count))
	default:
		panic("the API has a new kind of value: " + v.Kind().String())
	}
}

func (f *fill) structure(v reflect.Value, depth int) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(int64(f.count)*1e6, int64(f.count%3)*1e8).In(time.FixedZone("",
			f.count%5*1800))))
		return
	}
	for _, field := range v.Fields() {
		f.value(field, depth)
	}
}

// Every answer of the API reads as encoding/json would write it.
func TestWireTypesAreWrittenAlike(t *testing.T) {
	for _, object := range []any{
		&wire.Organisation{}, &wire.Membership{}, &wire.Region{}, &wire.VPC{}, &wire.Subnet{}, &wire.MachineType{},
		&wire.MachineTypeCategory{}, &wire.MachineImage{}, &wire.Machine{}, &wire.Loadbalancer{}, &wire.Listener{},
		&wire.TargetGroup{}, &wire.Attachment{}, &wire.Project{}, &wire.Quota{}, &wire.QuotaIncrease{},
		&wire.CloudInit{},
		&wire.FirewallRule{}, &wire.Peering{}, &wire.Filesystem{}, &wire.VolumeType{},
		&wire.Volume{}, &wire.VolumeAttachment{}, &wire.Snapshot{},
		&wire.SnapshotPolicy{}, &wire.SecurityGroup{}, &wire.SecurityGroupRule{},
		&wire.ReservedIP{},
		&wire.NATGateway{}, &wire.RouteTable{}, &wire.RouteEntry{}, &wire.Token{}, &wire.TokenError{}, &wire.Error{},
	} {
		t.Run(reflect.TypeOf(object).Elem().Name(), func(t *testing.T) {
			same(t, object)
			for n := 2; n < tier.Pick(4, 7); n++ {
				f := fill{n: n}
				f.value(reflect.ValueOf(object).Elem(), 5)
				same(t, object)
			}
		})
	}
}
