package annotation

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

const (
	selectorLength = 2048
	// selectorDomain is a DNS name; that it has at most 253 characters is in longDomain.
	selectorDomain = `[0-9a-z](?:[0-9a-z-]*[0-9a-z])?(?:[.][0-9a-z](?:[0-9a-z-]*[0-9a-z])?)*`
	// longDomain matches where a domain is longer than any may be.
	longDomain = `[0-9a-z.-]{254}/`
)

// Selector takes a selector of labels as kubectl's --selector does, of at most 2048 characters: requirements with
// commas between them, each one of key, !key, key=value, key==value, key!=value, key in (a, b), key notin (a, b), key>5
// and key<5. Numbers have at most 18 digits. Empty text selects everything.
func Selector() Kind[labels.Selector] {
	allowed := fmt.Sprintf("a label selector as kubectl takes it, like disk=ssd,zone in (a, b), of at most %d "+
		"characters", selectorLength)
	grammar, domain := pattern(selectorPattern()), pattern(longDomain)
	parse := func(text string) (labels.Selector, error) {
		if tooLong(text, selectorLength) || !grammar().MatchString(text) || domain().MatchString(text) {
			return nil, fmt.Errorf("%q is not %s", text, allowed)
		}
		selector, err := labels.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%q is not %s: %w", text, allowed, err)
		}
		return selector, nil
	}
	return Kind[labels.Selector]{
		Allowed: allowed, Parse: parse,
		Condition: func(text string) string {
			return fmt.Sprintf("size(%s) <= %d && %s && !%s", text, selectorLength, matching(text, selectorPattern()),
				matching(text, longDomain))
		},
	}
}

// selectorPattern is the grammar of labels.Parse as a regular expression. Blanks are possible everywhere but inside of
// words.
func selectorPattern() string {
	const blank = `[ \t\r\n]`
	value := "(?:" + labelPattern + ")?"
	set := blank + `*[(]` + blank + "*" + value + blank + "*(?:," + blank + "*" + value + blank + "*)*[)]"
	requirement := "(?:!" + blank + "*KEY|KEY" + blank + "*(?:(?:==?|!=)" + blank + "*" + value + "|[<>]" + blank +
		"*[0-9]{1,18})?|KEY" + blank + "+(?:in|notin)" + set + ")"
	requirement = strings.ReplaceAll(requirement, "KEY", "(?:"+selectorDomain+"/)?"+labelPattern)
	return "^" + blank + "*(?:" + requirement + blank + "*(?:," + blank + "*" + requirement + blank + "*)*)?$"
}
