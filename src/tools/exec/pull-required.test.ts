import { describe, expect, it } from 'vitest'
import { afterEarlierTurns } from '../../../test/support/earlier-turns.ts'
import { artifactContentBlock, type Draft } from '../../core/block/index.ts'
import { blockOrigin } from '../../testing/blocks.ts'
import { createPullTool } from '../react/pull.ts'
import { pullRefusal } from './pull-required.ts'

const pullTool = createPullTool()

const recorded = (path: string): Draft =>
  artifactContentBlock(blockOrigin('k1', 'turn_o'), { path, mime: 'text/plain', digest: { artifact_path: path }, text: 'x' })

const fixture = () =>
  afterEarlierTurns({ turn_o: { 'app/a.csv': 'a', 'app/b.csv': 'b' } }, async () => [
    recorded('fi:turn_o.outputs/reports/q1.md'),
    recorded('fi:turn_o.outputs/reports/q2.md'),
    recorded('fi:turn_o.user.attachments/photo.png'),
  ])

async function missingIn(code: string, before?: (run: Awaited<ReturnType<typeof fixture>>) => Promise<unknown>) {
  const made = await fixture()
  await before?.(made)
  const outcome = await pullRefusal({ ...made.call, code }, made.workspace)
  return outcome?.error
}

describe('a program that names files of earlier turns', () => {
  it.each([
    ['open("turn_o/files/app/a.csv")', ['turn_o/files/app/a.csv'], ['fi:turn_o.files/app/a.csv']],
    ["open(OUTPUT_DIR + '/turn_o/files/app/a.csv')", ['turn_o/files/app/a.csv'], ['fi:turn_o.files/app/a.csv']],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is a program
    ['open(`${OUTPUT_DIR}/turn_o/files/app/${name}`)', ['turn_o/files/app'], ['fi:turn_o.files/app']],
    ['listdir("turn_o/files")', ['turn_o/files'], ['fi:turn_o.files/']],
    ['# see turn_o/files/app/a.csv.', ['turn_o/files/app/a.csv'], ['fi:turn_o.files/app/a.csv']],
    ['"turn_o/attachments/photo.png"', ['turn_o/attachments/photo.png'], ['fi:turn_o.user.attachments/photo.png']],
    ['"turn_o/outputs/reports"', ['turn_o/outputs/reports'], ['fi:turn_o.outputs/reports/q1.md', 'fi:turn_o.outputs/reports/q2.md']],
  ])('%s has to pull them first', async (code, missing, logical) => {
    expect(await missingIn(code)).toEqual({
      code: 'pre_exec_pull_required',
      message: expect.stringContaining(`${missing[0]}. Nothing ran. Pull them with react.pull`),
      details: { missing, logical_missing: logical, pull_hint: { tool_id: 'react.pull', params: { paths: logical } } },
    })
  })

  it.each([
    ['names a file of this turn', 'open("turn_c/files/a.csv")'],
    ['names a file that no turn has left', 'open("turn_o/files/none.csv"); open("turn_o/outputs/none.md")'],
    ['names a turn that does not exist', 'open("turn_x/files/app/a.csv")'],
    ['names a path that is similar', '"turn_o/filesystem/a" "turn_other/files/app/a.csv" "xturn_o/files/app/a.csv"'],
    ['names no path', 'print(1)'],
  ])('runs if it %s', async (_, code) => expect(await missingIn(code)).toBeUndefined())

  it.each([
    'open("turn_o/files/app/a.csv"); open("turn_o/outputs/reports/q1.md")',
    'listdir("turn_o/files")',
    'listdir("turn_o/files/app")',
  ])('runs after the hint was followed: %s', async (code) => {
    const details = (await missingIn(code))?.details as { readonly pull_hint: { readonly params: object } } | undefined
    expect(details).toBeDefined()
    expect(await missingIn(code, async ({ run }) => run(pullTool, details?.pull_hint.params ?? {}))).toBeUndefined()
  })
})
