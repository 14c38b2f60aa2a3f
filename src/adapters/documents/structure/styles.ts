import type { HtmlElement } from './html.ts'

/** The declarations in the attribute `style`, by name in lower case. */
export function stylesOf({ attributes }: HtmlElement): ReadonlyMap<string, string> {
  const declarations = (attributes.style ?? '').split(';').map((declaration) => {
    const colon = declaration.indexOf(':')
    return [declaration.slice(0, Math.max(0, colon)).trim().toLowerCase(), declaration.slice(colon + 1).trim()] as const
  })
  return new Map(declarations.filter(([name, value]) => name !== '' && value !== ''))
}

/** A CSS colour as six hex digits. Undefined for colours in other notations. */
export function parseColour(value: string | undefined): string | undefined {
  const text = value?.trim().toLowerCase() ?? ''
  const hex = /^#([0-9a-f]{6}|[0-9a-f]{3})(?:[0-9a-f]{2}|[0-9a-f])?$/.exec(text)?.[1]
  if (hex !== undefined) return (hex.length === 3 ? [...hex].map((digit) => digit + digit).join('') : hex).toUpperCase()
  const [, red, green, blue] = /^rgba?\(\s{0,9}(\d{1,3})[\s,]{1,9}(\d{1,3})[\s,]{1,9}(\d{1,3})/.exec(text) ?? []
  if (red !== undefined) return [red, green, blue].map((part) => byteHex(Number(part))).join('')
  return Object.hasOwn(named, text) ? named[text] : undefined
}

const byteHex = (value: number) => Math.min(255, value).toString(16).padStart(2, '0').toUpperCase()

const named: Readonly<Record<string, string>> = {
  ...{ black: '000000', white: 'FFFFFF', red: 'FF0000', green: '008000', blue: '0000FF', gray: '808080', grey: '808080' },
  ...{ silver: 'C0C0C0', maroon: '800000', purple: '800080', fuchsia: 'FF00FF', lime: '00FF00', olive: '808000', yellow: 'FFFF00' },
  ...{ navy: '000080', teal: '008080', aqua: '00FFFF', orange: 'FFA500', darkblue: '00008B', darkgreen: '006400', darkred: '8B0000' },
  ...{ lightgray: 'D3D3D3', lightgrey: 'D3D3D3', darkgray: 'A9A9A9', darkgrey: 'A9A9A9', whitesmoke: 'F5F5F5', steelblue: '4682B4' },
}

/** How many points one unit of a CSS length is. */
const units: Readonly<Record<string, number>> = { px: 0.75, pt: 1, in: 72, cm: 72 / 2.54, mm: 72 / 25.4, em: 12, rem: 12, '': 0.75 }

/** A CSS length in points. Undefined when the value is not a length, and for percentages. */
export function parseLength(value: string | undefined): number | undefined {
  const [, number, unit = ''] = /^(\d{1,6}(?:\.\d{1,6})?)(px|pt|in|cm|mm|rem|em)?$/.exec(value?.trim().toLowerCase() ?? '') ?? []
  return number === undefined ? undefined : Number(number) * (units[unit] as number)
}
