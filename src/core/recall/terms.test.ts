import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entityTermsOf } from './entities.ts'
import { stem } from './stem.ts'
import { termsOf } from './terms.ts'

describe('the terms of a text', () => {
  it.each([
    ['She was indexing the indexes', ['index', 'index']],
    ['Went to buy; bought and gone', ['go', 'bui', 'bui', 'go']],
    ['Café déjà vu', ['cafe', 'deja', 'vu']],
    ['parseUserName', ['parseusername', 'pars', 'user', 'name']],
    ['user_name HTTPServer', ['username', 'user', 'name', 'httpserver', 'http', 'server']],
    ['東京タワーへ', ['東京', '京タ', 'タワ', 'ワー', 'ーへ']],
    ['用API查', ['用', 'api', '查']],
    ['the of and', []],
    ['Привет мир', ['привет', 'мир']],
    ['har\u00adbour ligh\u200bt\u2060house \ufefflamp', ['harbour', 'lighthous', 'lamp']],
    ['می\u200cخواهم', ['میخواهم']],
    ['ﾀﾜｰ ＡＰＩ', ['タワ', 'ワー', 'api']],
    ['カ\u3099ス 한국'.normalize('NFD'), ['ガス', '한국']],
    ['version 3 of utf8', ['version', '3', 'utf8', 'utf', '8']],
  ])('%s', (text, terms) => {
    expect(termsOf(text)).toEqual(terms)
  })

  it('stems as Porter describes it', () => {
    const pairs = 'caresses caress,ponies poni,agreed agre,plastered plaster,hopping hop,filing file,relational relat,conditional condit'
    for (const [word, expected] of pairs.split(',').map((pair) => pair.split(' ') as [string, string])) expect(stem(word)).toBe(expected)
    expect(stem('activation')).toBe(stem('activate'))
    expect(stem('adjustment')).toBe('adjust')
  })

  it('any text gives terms, and a term never contains white space', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) =>
        termsOf(text).every((term) => term.trim() === term && term !== ''),
      ),
    )
  })
})

it('finds names, identifiers and files as entities', () => {
  const text = 'We met Caroline. She wrote loadUser in src/main.py with Melanie, and today nothing else.'
  expect(entityTermsOf(text)).toEqual(expect.arrayContaining(['carolin', 'loaduser', 'melani', 'main', 'src']))
  expect(entityTermsOf(text)).not.toEqual(expect.arrayContaining(['todai']))
  expect(entityTermsOf('Nothing here. The end.')).toEqual([])
})
