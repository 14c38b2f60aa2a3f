import fc from 'fast-check'
import { expect, it } from 'vitest'
import { mergeHits } from './hits.ts'
import { freshnessOf, relevanceOf, weightedRank } from './rank.ts'

it('the rank is 0.60 relevance, 0.25 place and 0.15 freshness, from 0 to 1', () => {
  expect(weightedRank({ relevance: 1, provider: 1, maxProvider: 1, freshness: 1 })).toBe(1)
  expect(weightedRank({ relevance: 0.5, provider: 0.4, maxProvider: 0.8, freshness: 0.5 })).toBe(0.5)
  expect(weightedRank({ relevance: 1, provider: 0, maxProvider: 0, freshness: 0 })).toBe(0.6)
  expect(weightedRank({ relevance: 9, provider: 1, maxProvider: 1, freshness: 1 })).toBe(1)
  fc.assert(
    fc.property(
      fc.double({ noNaN: true }),
      fc.double({ noNaN: true, min: 0, max: 1 }),
      fc.double({ noNaN: true, min: 0, max: 1 }),
      (relevance, provider, freshness) => {
        const rank = weightedRank({ relevance, provider, maxProvider: 1, freshness })
        expect(rank >= 0 && rank <= 1).toBe(true)
      },
    ),
  )
})

it('freshness halves every 30 days, and is 0 if the age is not known', () => {
  const now = '2026-03-31T00:00:00Z'
  const dates = [now, '2026-03-01T00:00:00Z', '2026-01-30T00:00:00Z', '2027-01-01T00:00:00Z', undefined, 'soon']
  expect(dates.map((date) => freshnessOf(date, now))).toEqual([1, 0.5, 0.25, 1, 0, 0])
})

it('relevance is the share of the words of the query, and a word in the title counts more', () => {
  const page = { title: 'The Tower', text: 'Height of the building: 54 metres. 高さ' }
  expect(['tower', 'height', 'tower height', 'nothing', '', '高さ'].map((query) => relevanceOf(query, page))).toEqual([
    1, 0.8, 0.9, 0, 0, 0.8,
  ])
})

const hit = (name: string, more: object = {}) => ({ url: `https://a.example/${name}`, title: name, text: `about ${name}`, ...more })

it('the results of several queries alternate, and each page is listed once', () => {
  const lists = [
    { authority: 2, hits: [hit('a'), hit('b'), hit('c')] },
    { authority: 2, hits: [hit('d'), hit('a#part'), hit('e')] },
  ]
  expect(mergeHits(lists).map(({ url }) => url.slice(18))).toEqual(['a', 'd', 'b', 'c', 'e'])
})

it('a page that two services found has the texts of the service with more authority, and fields that this service lacks come from the other', () => {
  const [merged] = mergeHits([
    { authority: 2, hits: [hit('a', { text: 'from brave', favicon: 'https://f.example/', score: 0.2 })] },
    { authority: 4, hits: [hit('x'), hit('a?utm_source=y', { title: '', text: 'from serper', published: '2026-01-01T00:00:00Z' })] },
  ])
  expect(merged).toEqual({
    url: 'https://a.example/a',
    title: 'a',
    text: 'from serper',
    published: '2026-01-01T00:00:00Z',
    favicon: 'https://f.example/',
    score: 0.2,
    authority: 4,
    providerRank: 1,
  })
})
