import { expect, it } from 'vitest'
import { isAllowedByRobots, parseRobots } from './robots.ts'

const allowed = (file: string, path: string) => isAllowedByRobots(parseRobots(file, 'daybook'), path)

it.each([
  ['', '/a', true],
  ['User-agent: *\nDisallow:', '/a', true],
  ['User-agent: *\nDisallow: /', '/a', false],
  ['user-AGENT : *\r\nDISALLOW : /a # not there\r\n', '/ab', false],
  ['User-agent: *\nDisallow: /a', '/b', true],
  ['User-agent: other\nDisallow: /', '/a', true],
  ['User-agent: Daybook/1.0\nDisallow: /a\n\nUser-agent: *\nDisallow: /b', '/a', false],
  ['User-agent: Daybook\nDisallow: /a\n\nUser-agent: *\nDisallow: /b', '/b', true],
  ['User-agent: daybook\n\nUser-agent: *\nDisallow: /b', '/b', false], // one group with two names
  ['User-agent: daybook\nAllow: /\nUser-agent: *\nDisallow: /b', '/b', true],
  ['User-agent: other\nUser-agent: daybook\nDisallow: /a', '/a', false],
  ['User-agent: *\nDisallow: /a\nAllow: /a', '/a', true], // both patterns are equally long, so the path is allowed
  ['User-agent: *\nAllow: /a\nDisallow: /a/b', '/a/b/c', false],
  ['User-agent: *\nDisallow: /*.pdf$', '/x/y.pdf', false],
  ['User-agent: *\nDisallow: /*.pdf$', '/x/y.pdf?z', true],
  ['User-agent: *\nDisallow: /a$', '/a', false],
  ['User-agent: *\nDisallow: /a$', '/ab', true],
  ['User-agent: *\nDisallow: *?session=', '/a?session=1', false],
  ['User-agent: *\nDisallow: /a*b*c', '/axxbxxc', false],
  ['User-agent: *\nDisallow: /a*b*c', '/axxcxxb', true],
  ['nonsense\n:::\nDisallow: /', '/a', true], // a rule before the first name applies to no program
])('%j: %s is allowed: %s', (file, path, expected) => {
  expect(allowed(file, path)).toBe(expected)
})
