import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { conversationFolder, encodeName } from './names.ts'

/** The inverse of `encodeName`. Undefined for text that `encodeName` does not return. */
function decodeName(encoded: string): string | undefined {
  try {
    const name = encoded === '%%' ? '' : decodeURIComponent(encoded.replaceAll('%/', ''))
    return encodeName(name) === encoded ? name : undefined
  } catch {
    return undefined
  }
}

describe('encoded names', () => {
  const name = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ maxLength: 700 }))

  it('can be decoded, so that no two names have the same encoding', () => {
    fc.assert(fc.property(name, (each) => decodeName(encodeName(each)) === each.toWellFormed()))
    fc.assert(fc.property(name, name, (a, b) => a === b || encodeName(a) !== encodeName(b)))
    expect(decodeName('%41%2elock')).toBe(undefined)
  })

  it('contain only characters that git and every disk allow', () => {
    fc.assert(
      fc.property(name, (each) => {
        for (const segment of encodeName(each).split('/')) expect(segment).toMatch(/^[a-z0-9_%A-F-]{1,203}$/)
      }),
    )
    expect(encodeName('A.lock')).toBe('%41%2Elock')
  })

  it('give every conversation of every scope a folder of its own', () => {
    const scope = fc.record({ tenant: name, project: name, user: name })
    fc.assert(
      fc.property(scope, name, scope, name, (a, x, b, y) => {
        const same = [a.tenant, a.project, a.user, x].join('\0') === [b.tenant, b.project, b.user, y].join('\0')
        return same || conversationFolder(a, x) !== conversationFolder(b, y)
      }),
    )
  })
})
