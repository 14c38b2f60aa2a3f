import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { normalizeUrl } from './url.ts'

describe('normalising a URL', () => {
  it('timeline 11.107: lower-cases scheme and host, and drops tracking parameters, fragment and final slash', () => {
    expect(normalizeUrl('HTTPS://Example.COM/a/?utm_source=x&b=2#f')).toBe('https://example.com/a?b=2')
  })

  it.each([
    [' https://a.b ', 'https://a.b/'],
    ['https://a.b/', 'https://a.b/'],
    ['https://a.b//', 'https://a.b/'],
    ['https://a.b/c//', 'https://a.b/c'],
    ['http://a.b:80/c', 'http://a.b/c'],
    ['https://a.b:443/c', 'https://a.b/c'],
    ['http://a.b:443/c', 'http://a.b:443/c'],
    ['https://a.b:80/c', 'https://a.b:80/c'],
    ['http://localhost:8080/', 'http://localhost:8080/'],
    ['http://localhost:8000/', 'http://localhost:8000/'],
    ['localhost:8080/x', 'https://localhost:8080/x'],
    ['http://10.0.0.80/', 'http://10.0.0.80/'],
    ['https://foo34', 'https://foo34/'],
    ['Example.com/Path', 'https://example.com/Path'],
    ['//Example.com/x', 'https://example.com/x'],
    ['https://a.b/?z=1&a=2&z=0', 'https://a.b/?z=1&a=2&z=0'],
    ['https://a.b/?UTM_Source=1&GCLID=2&fbclid=3&utm_id=4', 'https://a.b/'],
    ['https://a.b/?utm_custom=1', 'https://a.b/?utm_custom=1'],
    ['https://a.b/?q=a%20b&r=c+d', 'https://a.b/?q=a%20b&r=c+d'],
    ['https://a.b/c?', 'https://a.b/c'],
    ['https://u:p@A.b/c', 'https://u:p@a.b/c'],
    ['s3://Bucket/Key/', 's3://bucket/Key'],
    ['mailto:A@b.c', 'mailto:A@b.c'],
    [' not a url ', 'not a url'],
    ['', ''],
    ['https://', 'https://'],
  ])('%j is %j', (given, normal) => {
    expect(normalizeUrl(given)).toBe(normal)
  })

  it('keeps ports and digits at the end of a host', () => {
    const spellings = [
      'http://example.com:8080',
      'http://example.com',
      'http://example.com:8000',
      'https://foo34',
      'https://foo',
      'http://10.0.0.8',
      'http://10.0.0.80',
    ]
    expect(new Set(spellings.map(normalizeUrl)).size).toBe(spellings.length)
  })

  it('changes nothing the second time', () => {
    const piece = fc.constantFrom(
      ...'http:// https:// HTTPS:// s3:// file:// // / . .. ? # & = : @ % \\ %2e utm_source=x gclid 443 80 8080 a.b Example.COM [::1] C: é\u0301 + ~ ;'.split(
        ' ',
      ),
      ' ',
      '\t',
    )
    const url = fc.oneof(
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
      fc.array(fc.oneof(piece, fc.string({ maxLength: 3 })), { maxLength: 9 }).map((pieces) => pieces.join('')),
    )
    fc.assert(
      fc.property(url, (given) => {
        const once = normalizeUrl(given)
        expect(normalizeUrl(once)).toBe(once)
      }),
      { numRuns: 3000 },
    )
  })
})
