import { describe, expect, it } from 'vitest'
import { citedSids } from './text-artifact.ts'

describe('citedSids', () => {
  it.each([
    ['a list in brackets', 'citations:\n  - text: a\n    sids: [5, 6]\n', [5, 6]],
    ['a list of dashes', 'citations:\n  - sids:\n      - 7\n\n      - 3\nother:\n  - 9\n', [3, 7]],
    ['dashes at the left edge', 'citations:\n- sids: [2]\n- sids: [1]\n', [1, 2]],
    ['lines that end in CRLF', 'a: 1\r\ncitations:\r\n  - sids: [4]\r\n\r\n  - sids:\r\n    - 5\r\n', [4, 5]],
    ['another key of that name deeper down', 'a:\n  citations:\n    - sids: [1]\n', []],
    ['what follows the section', 'citations:\n  - sids: [1]\nsids: [2]\nb:\n  sids: [3]\n', [1]],
  ])('finds citations in YAML: %s', (_, text, sids) => {
    expect(citedSids(text, 'application/yaml')).toEqual(sids)
  })

  // For each of these texts, a search that starts again at every line would take minutes.
  it.each([
    ['very many empty lines', `citations:\n - sids:${'\n'.repeat(1_000_000)}x`],
    ['very many lines', `citations:\n${' - sids:\n'.repeat(500_000)}`],
    ['one very long line', `citations:\n - sids: [${'1, '.repeat(500_000)}`],
    ['very many numbers', `citations:\n - sids: [${'1, '.repeat(500_000)}]`],
  ])('is linear in the length of the text: %s', (_, text) => {
    expect(citedSids(text, 'application/yaml').length).toBeLessThanOrEqual(1)
  })
})
