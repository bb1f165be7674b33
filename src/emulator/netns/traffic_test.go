//go:build linux

package netns

import (
	"testing"
)

func TestHello(t *testing.T) {
	asRoot(t, func(c *cloud) {
		one := c.machine("one", "")
		c.serve(one, 8080)
		c.reaches(c.plane.Client(), one.v4, 8080, true)
		c.reaches(c.plane.Client(), one.v6, 8080, true)
		_, v4, v6 := c.balancer("web", nil, one)
		c.reaches(c.plane.Client(), v4, 80, true)
		c.reaches(c.plane.Client(), v6, 80, true)
	})
}
