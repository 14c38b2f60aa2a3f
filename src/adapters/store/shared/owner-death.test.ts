import { describe, expect, it } from 'vitest'
import type { Owner } from '../../../ports/store.ts'
import { type FoundProcess, findProcess, isProvenDead } from './owner-death.ts'

const linux = { host: 'h', bootId: 'boot-1', pidNs: 'pid:[1]' }
const mac = { host: 'h' }
const owner = (facts: Partial<Owner>): Owner => ({ id: 'a', host: 'h', pid: 7, startedAt: '100', ...facts })
const claimant = (facts: Partial<Owner>): Owner => ({ id: 'b', host: 'h', pid: 9, startedAt: '200', ...facts })
const gone = () => undefined
const found = (process: FoundProcess) => () => process

describe('an owner in the same pid namespace', () => {
  it('is dead when its pid is gone or belongs to a process that started at another time', () => {
    expect(isProvenDead(owner(linux), claimant(linux), gone)).toBe(true)
    expect(isProvenDead(owner(linux), claimant(linux), found({ startedAt: '101' }))).toBe(true)
    expect(isProvenDead(owner({ ...linux, pid: 9 }), claimant(linux), gone)).toBe(true) // the claimant has the pid of the owner
  })

  it('is not dead when its process exists, or when the start time of the process with its pid is not known', () => {
    expect(isProvenDead(owner(linux), claimant(linux), found({ startedAt: '100' }))).toBe(false)
    expect(isProvenDead(owner(linux), claimant(linux), found({}))).toBe(false)
    // owner and claimant are two agents in one process
    expect(isProvenDead(owner({ ...linux, pid: 9, startedAt: '200' }), claimant(linux), gone)).toBe(false)
  })
})

it('an owner elsewhere is not dead, whatever pids exist here', () => {
  for (const elsewhere of [{ host: 'other' }, { bootId: 'boot-2' }, { pidNs: 'pid:[2]' }]) {
    for (const pid of [7, 9]) {
      for (const find of [gone, found({ startedAt: '101' })]) {
        expect(isProvenDead(owner({ ...linux, ...elsewhere, pid }), claimant(linux), find)).toBe(false)
      }
    }
  }
})

it('an owner of unknown namespace is not dead on Linux: it may run in a container with the name of this host', () => {
  const unknown: Owner = { id: 'a', host: 'h', pid: 7 }
  expect(isProvenDead(unknown, claimant(linux), gone)).toBe(false)
  expect(isProvenDead(unknown, { id: 'b', host: 'h', pid: 9 }, gone)).toBe(false)
  expect(isProvenDead(owner(linux), { id: 'b', host: 'h', pid: 9 }, gone)).toBe(false)
})

describe('on a system without /proc', () => {
  it('an owner is dead when its pid is gone, also in a lease without a start time', () => {
    expect(isProvenDead(owner(mac), claimant(mac), gone)).toBe(true)
    expect(isProvenDead({ id: 'a', host: 'h', pid: 7 }, claimant(mac), gone)).toBe(true)
  })

  it('an owner whose pid is in use is dead only when the pid is our own and the start time differs', () => {
    expect(isProvenDead(owner({ ...mac, pid: 9 }), claimant(mac), found({}))).toBe(true)
    expect(isProvenDead(owner({ ...mac, pid: 9, startedAt: '200' }), claimant(mac), found({}))).toBe(false)
    expect(isProvenDead({ id: 'a', host: 'h', pid: 9 }, claimant(mac), found({}))).toBe(false)
    expect(isProvenDead(owner(mac), claimant(mac), found({}))).toBe(false)
  })
})

it('finds the processes that exist, and no others', () => {
  expect(findProcess(process.pid)).toBeDefined()
  expect(findProcess(2 ** 30)).toBeUndefined()
  for (const pid of [-1, 0, 2 ** 40, Number.NaN]) expect(findProcess(pid)).toBeDefined() // numbers that can not be pids prove no death
})
