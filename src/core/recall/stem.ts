/**
 * The stem of an English word, after the algorithm of Porter (1980), so that `indexing`, `indexed` and `indexes` become one term. A word
 * with a character other than `a` to `z` is returned unchanged. The word must be in lower case.
 */
export function stem(word: string): string {
  const irregular = irregularForms.get(word)
  if (irregular !== undefined) return stem(irregular)
  if (word.length < 3 || word.length > 40 || !isPlainWord(word)) return word
  return tidyEnd(longSuffixes(secondSuffixes(firstSuffixes(finalY(participles(plural(word)))))))
}

const isPlainWord = (word: string): boolean => {
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at)
    if (code < 97 || code > 122) return false
  }
  return true
}

function isConsonant(word: string, at: number): boolean {
  const letter = word[at] as string
  if ('aeiou'.includes(letter)) return false
  return letter !== 'y' || at === 0 || !isConsonant(word, at - 1)
}

/** How often a consonant follows a vowel in the word. */
function measure(word: string): number {
  let count = 0
  let afterVowel = false
  for (let at = 0; at < word.length; at++) {
    const consonant = isConsonant(word, at)
    if (consonant && afterVowel) count++
    afterVowel = !consonant
  }
  return count
}

function hasVowel(word: string): boolean {
  for (let at = 0; at < word.length; at++) if (!isConsonant(word, at)) return true
  return false
}

const endsInDouble = (word: string): boolean => word.length > 1 && word.at(-1) === word.at(-2) && isConsonant(word, word.length - 1)

/** Whether the word ends in consonant, vowel and consonant, and the last one is not w, x or y. */
function endsShort(word: string): boolean {
  const last = word.length - 1
  if (last < 2 || !isConsonant(word, last) || isConsonant(word, last - 1) || !isConsonant(word, last - 2)) return false
  return !'wxy'.includes(word[last] as string)
}

function plural(word: string): string {
  if (word.endsWith('sses') || word.endsWith('ies')) return word.slice(0, -2)
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

function participles(word: string): string {
  if (word.endsWith('eed')) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word
  const base = word.endsWith('ed') ? word.slice(0, -2) : word.endsWith('ing') ? word.slice(0, -3) : undefined
  if (base === undefined || !hasVowel(base)) return word
  if (base.endsWith('at') || base.endsWith('bl') || base.endsWith('iz')) return `${base}e`
  if (endsInDouble(base) && !'lsz'.includes(base.at(-1) as string)) return base.slice(0, -1)
  return measure(base) === 1 && endsShort(base) ? `${base}e` : base
}

const finalY = (word: string): string => (word.endsWith('y') && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word)

const secondSteps: readonly (readonly [string, string])[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['abli', 'able'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
]

const thirdSteps: readonly (readonly [string, string])[] = [
  ['icate', 'ic'],
  ['ative', ''],
  ['alize', 'al'],
  ['iciti', 'ic'],
  ['ical', 'ic'],
  ['ful', ''],
  ['ness', ''],
]

const removedSuffixes = 'al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize'.split(' ') as readonly string[]

const firstSuffixes = (word: string): string => replaceSuffix(word, secondSteps)
const secondSuffixes = (word: string): string => replaceSuffix(word, thirdSteps)

function replaceSuffix(word: string, steps: readonly (readonly [string, string])[]): string {
  const step = steps.find(([suffix]) => word.endsWith(suffix))
  if (step === undefined) return word
  const base = word.slice(0, -step[0].length)
  return measure(base) > 0 ? base + step[1] : word
}

function longSuffixes(word: string): string {
  const suffix = removedSuffixes.filter((each) => word.endsWith(each)).sort((a, b) => b.length - a.length)[0]
  if (suffix === undefined) return word
  const base = word.slice(0, -suffix.length)
  if (measure(base) < 2 || (suffix === 'ion' && !base.endsWith('s') && !base.endsWith('t'))) return word
  return base
}

function tidyEnd(word: string): string {
  const base = word.endsWith('e') ? word.slice(0, -1) : word
  const shortened = base !== word && (measure(base) > 1 || (measure(base) === 1 && !endsShort(base))) ? base : word
  return shortened.endsWith('ll') && measure(shortened) > 1 ? shortened.slice(0, -1) : shortened
}

/** Irregular forms of words, such as `broke` for `break`. The rules above can not reduce them. Each item is `word: form form`. */
const irregularForms: ReadonlyMap<string, string> = new Map(
  `begin: began begun; break: broke broken; bring: brought; build: built; buy: bought; catch: caught; choose: chose chosen; come: came;
  draw: drew drawn; drink: drank drunk; drive: drove driven; eat: ate eaten; fall: fell fallen; feel: felt; fight: fought;
  find: found; fly: flew flown; forget: forgot forgotten; get: got gotten; give: gave given; go: went gone; grow: grew grown; hear: heard;
  hold: held; keep: kept; know: knew known; lead: led; leave: left; lose: lost; make: made; mean: meant; meet: met; pay: paid;
  ride: rode ridden; ring: rang rung; rise: rose risen; run: ran; say: said; see: saw seen; sell: sold; send: sent; shoot: shot; sing: sang sung;
  sit: sat; sleep: slept; speak: spoke spoken; spend: spent; stand: stood; steal: stole stolen; swim: swam swum; take: took taken;
  teach: taught; tell: told; think: thought; throw: threw thrown; understand: understood; wake: woke woken; wear: wore worn; win: won;
  write: wrote written; child: children; man: men; woman: women; person: people; foot: feet; tooth: teeth; mouse: mice; wife: wives;
  life: lives; knife: knives; leaf: leaves; shelf: shelves`
    .split(';')
    .flatMap((line) => {
      const [word = '', forms = ''] = line.split(':').map((part) => part.trim())
      return forms
        .split(' ')
        .filter((form) => form !== '')
        .map((form) => [form, word] as const)
    }),
)
