import { describe, expect, it } from 'vitest'
import { drawChart } from './draw-chart.ts'

const labelsOf = (labels: readonly string[]) => {
  const series = [{ name: 'a', values: labels.map((_, index) => index) }]
  const { svg } = drawChart({ type: 'bar', title: '', labels, series })
  const shown = [...svg.matchAll(/<text[^>]*fill="#4A5563"([^>]*)>([^<]*)</g)].filter(([, , text]) => /[A-Za-z]/.test(text ?? ''))
  return { texts: shown.map(([, , text]) => text), turned: shown.filter(([, more]) => more?.includes('rotate')).length }
}

describe('the labels of a chart', () => {
  it('are whole and upright if they fit', () => {
    expect(labelsOf(['Q1', 'Q2', 'Q3'])).toEqual({ texts: ['Q1', 'Q2', 'Q3'], turned: 0 })
  })

  it('are turned if they are long', () => {
    const names = Array.from({ length: 10 }, (_, index) => `Department ${index}`)
    expect(labelsOf(names)).toEqual({ texts: names, turned: 10 })
  })

  it('are left out but not cut if there are many', () => {
    const weeks = Array.from({ length: 52 }, (_, index) => `Week ${index + 1}`)
    const { texts, turned } = labelsOf(weeks)
    expect(turned).toBe(0)
    expect(texts.length).toBeGreaterThan(5)
    expect(weeks).toEqual(expect.arrayContaining(texts))
  })
})
