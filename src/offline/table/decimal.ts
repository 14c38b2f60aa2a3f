/** An exact decimal number. Its value is `units / 10^scale`. */
export interface Decimal {
  readonly units: bigint
  readonly scale: number
}

const currencyBefore = /^(?:[€$£¥]|EUR|USD|GBP|CHF)\s*/
const currencyAfter = /(?<!\s)\s*(?:[€$£¥%]|EUR|USD|GBP|CHF)$/

/**
 * Parses a number such as `1,234.50` or `1.234,50 €`. It may have a sign, a currency or percent sign, and groups of thousands. Undefined
 * for other text.
 */
export function decimalOf(cell: string): Decimal | undefined {
  const text = cell
    .trim()
    .replace(currencyBefore, '')
    .replace(currencyAfter, '')
    .replace(/[\s'_](?=\d{3}\b)/g, '')
  if (text.length > 40) return undefined
  const [, sign = '', digits = ''] = /^([-+]?)(\d[\d.,]*)$/.exec(text) ?? []
  if (digits === '') return undefined
  const plain = plainDigits(digits)
  if (plain === undefined) return undefined
  const [whole = '', fraction = ''] = plain.split('.')
  return { units: BigInt(`${sign === '-' ? '-' : ''}${whole}${fraction}`), scale: fraction.length }
}

function plainDigits(digits: string): string | undefined {
  if (/^\d+(?:\.\d+)?$/.test(digits)) return digits
  if (/^\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(digits)) return digits.replaceAll(',', '')
  if (/^\d{1,3}(?:\.\d{3})+(?:,\d+)?$/.test(digits)) return digits.replaceAll('.', '').replace(',', '.')
  return /^\d+,\d+$/.test(digits) ? digits.replace(',', '.') : undefined
}

/** The value for `units` if the same number is written with the scale `to`. */
const scaled = ({ units, scale }: Decimal, to: number): bigint => units * 10n ** BigInt(to - scale)

export function sumOf(numbers: readonly Decimal[]): Decimal {
  const scale = numbers.reduce((most, number) => Math.max(most, number.scale), 0)
  return { units: numbers.reduce((sum, number) => sum + scaled(number, scale), 0n), scale }
}

export function compare(a: Decimal, b: Decimal): number {
  const scale = Math.max(a.scale, b.scale)
  const difference = scaled(a, scale) - scaled(b, scale)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

const averagePlaces = 4

/** The average with at least four decimal places, rounded half away from zero. `exact` is false if it was rounded. */
export function averageOf(numbers: readonly Decimal[]): { readonly value: Decimal; readonly exact: boolean } {
  const sum = sumOf(numbers)
  const count = BigInt(numbers.length)
  const scale = Math.max(sum.scale, averagePlaces)
  const units = scaled(sum, scale)
  const exact = units % count === 0n
  const half = (units < 0n ? -count : count) / 2n
  return { value: { units: exact ? units / count : (units + half) / count, scale }, exact }
}

/** The number in decimal digits. Zeros at the end of the decimal places are left out, but at least `keep` decimal places stay. */
export function decimalText({ units, scale }: Decimal, keep = 0): string {
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  let fraction = digits.slice(digits.length - scale)
  while (fraction.length > keep && fraction.endsWith('0')) fraction = fraction.slice(0, -1)
  return `${units < 0n ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`
}
