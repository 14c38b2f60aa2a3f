/**
 * Cuts a whole number into whole shares by weight. The shares always add up to the number: each is what lies between two rounded
 * marks on one line, so none is more than one off. Without any weight the first share is the whole.
 */
export function split(amount: number, weights: readonly number[]): readonly number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0)
  if (sum <= 0) return weights.map((_, index) => (index === 0 ? amount : 0))
  const last = weights.findLastIndex((weight) => weight > 0)
  let weighed = 0
  let given = 0
  return weights.map((weight, index) => {
    weighed += weight
    const mark = index >= last ? amount : Math.min(amount, Math.round(amount * (weighed / sum)))
    const share = Math.max(0, mark - given)
    given += share
    return share
  })
}
