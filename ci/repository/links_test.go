package repository

import "testing"

func TestLinks(t *testing.T) {
	check(t, Links, map[string]string{
		"README.md": "# The part\n[docs](docs/), [page](docs/page.md#part-of-it \"title\"), " +
			"[site](https://example.com/x#y), [mail](mailto:a@example.com)\n[part](#the-part)\n[gone](#gone)\n",
		"docs/page.md": "[back](../README.md)\n\n[gone](gone.md) and [far](../../else.md)\n![picture](picture.svg)\n" +
			"## `Part`: of [it](../README.md)\n## Twice\n## Twice\n[a](#twice-1) [b](#twice-2)\n" +
			"```\n# comment\n```\n[c](page.md#comment)\n<a id=\"d\"></a> [d](#d)\n",
		"docs/sample.go": "// [gone](gone.md) " + site + "blob/main/docs/page.md#twice.\n" +
			"// " + site + "blob/main/docs/page.md#once " + site + "tree/main/docs " + site + "issues/1\n",
		"charts/values.yaml":          "a: " + site + "blob/main/docs/gone.md\n",
		"ci/released/x/1/values.yaml": "a: " + site + "blob/main/docs/gone.md\n",
	},
		"README.md:4: the link to #gone leads nowhere",
		"charts/values.yaml:1: the address of docs/gone.md leads nowhere",
		"docs/page.md:3: the link to ../../else.md leads nowhere",
		"docs/page.md:3: the link to gone.md leads nowhere",
		"docs/page.md:4: the link to picture.svg leads nowhere",
		"docs/page.md:8: the link to #twice-2 leads nowhere",
		"docs/page.md:12: the link to page.md#comment leads nowhere",
		"docs/sample.go:2: the address of docs/page.md#once leads nowhere",
	)
}
