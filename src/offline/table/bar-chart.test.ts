import fc from 'fast-check'
import { expect, it } from 'vitest'
import { barChart } from './bar-chart.ts'

it('the longest bar has the greatest value, and the others are in proportion', () => {
  const svg = barChart('Total price by city', [
    { name: 'Oslo', value: '200' },
    { name: 'Bergen', value: '50.00' },
    { name: 'Tromsø', value: '-3' },
  ])
  expect([...svg.matchAll(/<rect x="\d+" y="\d+" width="(\d+)"/g)].map(([, width]) => width)).toEqual(['360', '90', '0'])
  expect(svg).toContain('>Total price by city</text>')
  expect(svg).toContain('>50.00</text>')
})

it('names can not add elements to the picture', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (name) => {
      const svg = barChart(name, [{ name: `</text><script>${name}`, value: '1' }])
      expect(svg.match(/<(?!\/?(?:svg|rect|text)[\s>])/g)).toBeNull()
      expect(svg.match(/&(?!(?:amp|lt|gt|quot);)/g)).toBeNull()
    }),
  )
})
