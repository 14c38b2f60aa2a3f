import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { localScope } from '../../core/scope.ts'
import { skillCatalogText } from '../../tools/skill-catalog.ts'
import { maxFileBytes } from './folder.ts'
import { openSkillFolders } from './skill-folders.ts'
import { builtInSkills, loadSkills } from './skills.ts'

const folders: string[] = []
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string | Uint8Array>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'skills-'))
  folders.push(folder)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

const skillFile = (front: string, body = 'Do it well.') => `---\n${front}\n---\n${body}\n`
const call = { scope: localScope, signal: new AbortController().signal }
const namesOf = (skills: ReturnType<typeof loadSkills>) => skills.list().map(({ path }) => path)

/** The problems without the path of the folder. */
const problemsOf = (skills: ReturnType<typeof loadSkills>, folder: string) =>
  skills.problems.map(({ path, problem }) => `${path.slice(folder.length + 1)}: ${problem}`)

describe('skills in folders', () => {
  it('are found in folders with and without a namespace, and listed in the order of their names', () => {
    const folder = folderWith({
      'charts/SKILL.md': skillFile(
        [
          'name: Charts',
          'description: Draws charts.',
          'version: 1.10',
          'category: pictures',
          'tags: [a, b]',
          'when_to_use: Someone wants a chart.',
          'tools:',
          '  - react.write',
          '  - { id: exec_tools.*, why: draws, required: false }',
        ].join('\n'),
      ),
      'team/tone/SKILL.md': skillFile('description: How we write.'),
      'internal/secret/SKILL.md': skillFile('description: Not listed.'),
      'quiet/SKILL.md': skillFile('description: Hidden.\nagent_disclosure: hidden'),
      'notes.txt': 'no skill',
      '.git/config': 'no skill',
    })
    const skills = loadSkills([{ path: folder }])
    expect(skills.problems).toEqual([])
    expect(namesOf(skills)).toEqual(['sk:public.charts', 'sk:team.tone'])
    expect(skills.list()[0]).toEqual({
      path: 'sk:public.charts',
      description: 'Draws charts.',
      version: '1.10',
      category: 'pictures',
      tags: ['a', 'b'],
      whenToUse: ['Someone wants a chart.'],
      tools: [
        { id: 'react.write', required: true },
        { id: 'exec_tools.*', required: false, why: 'draws' },
      ],
      tokens: expect.any(Number),
    })
  })

  it('are read with their imports first, each once, and citations get numbers of the joined sources', async () => {
    const source = (sid: number, name: string) => `sources:\n  - sid: ${sid}\n    url: https://${name}.example/\n    title: ${name}\n`
    const folder = folderWith({
      'report/SKILL.md': skillFile('description: d\nimports: [sk:tone, team.facts]', 'Report [[S:4]] and [[S:9]].'),
      'report/sources.yaml': source(4, 'report'),
      'tone/SKILL.md': skillFile('description: d\nimport: team.facts', 'Tone [[S:1]].'),
      'tone/sources.yaml': source(1, 'tone'),
      'team/facts/SKILL.md': skillFile('description: d\nversion: 2', 'Facts [[S:1]], and `[[S:1]]` is how to cite.'),
      'team/facts/sources.yaml': source(1, 'facts'),
    })
    const read = await loadSkills([{ path: folder }]).read('sk:public.report', call)
    expect(read).toEqual({
      path: 'sk:public.report',
      text: [
        'ACTIVE 💡[ACTIVE SKILLS]',
        '💡 [SKILL] team.facts v2\n\nFacts [[S:1]], and `[[S:1]]` is how to cite.',
        '💡 [SKILL] public.tone\n\nTone [[S:2]].',
        '💡 [SKILL] public.report\n\nReport [[S:3]] and .',
      ].join('\n\n'),
      sources: ['facts', 'tone', 'report'].map((name, index) => ({ sid: index + 1, url: `https://${name}.example/`, title: name })),
    })
  })

  it('a later folder replaces a skill of an earlier one', async () => {
    const first = folderWith({ 'a/SKILL.md': skillFile('description: first') })
    const second = folderWith({ 'a/SKILL.md': skillFile('description: second') })
    const skills = loadSkills([{ path: first, builtIn: true }, { path: second }])
    expect(skills.list()).toMatchObject([{ description: 'second' }])
    expect(skills.list()[0]).not.toHaveProperty('builtIn')
    expect(skills.problems).toEqual([])
  })

  it('that need a tool are not read without it, and neither is such an import', async () => {
    const folder = folderWith({
      'a/SKILL.md': skillFile('description: d\nimports: b', 'A'),
      'b/SKILL.md': skillFile('description: d\ntools: web_tools.web_search', 'B'),
    })
    const skills = loadSkills([{ path: folder }])
    const withoutTools = { ...call, hasTool: () => false }
    expect(await skills.read('sk:public.b', withoutTools)).toBeUndefined()
    expect((await skills.read('sk:public.a', withoutTools))?.text).not.toContain('B')
    expect((await skills.read('sk:public.a', call))?.text).toContain('B')
  })

  it('with hidden names have a path that does not tell the name', async () => {
    const folder = folderWith({ 'quiet/SKILL.md': skillFile('description: d\nagent_disclosure: hidden') })
    const skills = loadSkills([{ path: folder }])
    const read = await skills.read('sk:public.quiet', call)
    expect(read?.path).toMatch(/^sk:hidden-guidance-[0-9a-f]{10}$/)
    expect(read?.text).not.toContain('quiet')
    expect(await skills.read(read?.path ?? '', call)).toEqual(read)
  })

  it('of Daybook have no problems', async () => {
    const skills = loadSkills([builtInSkills()])
    expect(skills.problems).toEqual([])
    expect(skills.list()).toMatchObject([
      { path: 'sk:public.data-analysis', version: '1.0', builtIn: true },
      { path: 'sk:public.report-writing', version: '1.0', builtIn: true },
    ])
  })
})

describe('hostile skill files', () => {
  const bomb = [
    'a: &a [x, x, x, x, x, x, x, x, x]',
    ...'bcdefghi'.split('').map((key, n) => `${key}: &${key} [${`*${'abcdefgh'[n]}, `.repeat(9)}]`),
  ]
  it.each([
    ['no front matter', '# Just text\n', 'must begin with front matter between two lines ---'],
    ['an open front matter', '---\ndescription: d\n', 'has front matter that does not end with a line ---'],
    ['no text', skillFile('description: d', ''), 'has no text below its front matter'],
    ['no description', skillFile('name: x'), 'has invalid front matter: description: Invalid input: expected string, received undefined'],
    [
      'a list as description',
      skillFile('description: [a]'),
      'has invalid front matter: description: Invalid input: expected string, received array',
    ],
    ['a duplicate key', skillFile('description: a\ndescription: b'), 'has front matter that is not valid YAML: Map keys must be unique'],
    ['broken YAML', skillFile('description: "a'), 'has front matter that is not valid YAML: Missing closing "quote'],
    ['an alias', skillFile('description: &a x\nname: *a'), 'has front matter that has an alias, which is not allowed'],
    ['a YAML bomb', skillFile(`description: d\n${bomb.join('\n')}`), 'has front matter that has an alias, which is not allowed'],
    ['deep nesting', skillFile(`description: ${'['.repeat(15_000)}`), 'has front matter that '],
    ['long front matter', skillFile(`description: ${'x'.repeat(40_000)}`), 'has front matter with more than 16384 characters'],
    ['a name that escapes', skillFile('description: d\nid: ../../etc/passwd'), 'has an id with other characters'],
    ['a namespace that escapes', skillFile('description: d\nnamespace: a/b'), 'has a namespace with other characters'],
    ['a number as id', skillFile('description: d\nid: SK1'), 'has an id that looks like a number'],
    ['an object as front matter', skillFile('- a\n- b'), 'has invalid front matter'],
    ['binary data', Buffer.from([0x2d, 0x2d, 0x2d, 0x0a, 0xff, 0xfe]), 'is not a text in UTF-8'],
    ['NUL characters', '---\ndescription: d\0\n---\nx', 'is not a text'],
    ['a huge file', `---\ndescription: d\n---\n${'x'.repeat(maxFileBytes)}`, `is larger than ${maxFileBytes} bytes`],
  ])('%s: the skill is left out and reported, the others stay', (_, content, problem) => {
    const folder = folderWith({ 'bad/SKILL.md': content, 'good/SKILL.md': skillFile('description: d') })
    const skills = loadSkills([{ path: folder }])
    expect(namesOf(skills)).toEqual(['sk:public.good'])
    expect(problemsOf(skills, folder)).toEqual([expect.stringContaining(`bad/SKILL.md: ${problem}`)])
  })

  it('tags of YAML make no objects, and keys such as __proto__ change nothing', () => {
    const front = ['description: !!js/function "function () {}"', '__proto__:', '  builtIn: true', 'constructor: x'].join('\n')
    const skills = loadSkills([{ path: folderWith({ 'a/SKILL.md': skillFile(front) }) }])
    expect(skills.list()).toMatchObject([{ description: 'function () {}' }])
    expect(({} as { builtIn?: unknown }).builtIn).toBeUndefined()
  })

  it('symbolic links are not followed, and are reported', () => {
    const outside = folderWith({ 'x/SKILL.md': skillFile('description: outside') })
    const folder = folderWith({ 'a/readme.txt': '' })
    symlinkSync(join(outside, 'x'), join(folder, 'linked'))
    symlinkSync(join(outside, 'x/SKILL.md'), join(folder, 'a/SKILL.md'))
    const skills = loadSkills([{ path: folder }])
    expect(skills.list()).toEqual([])
    expect(problemsOf(skills, folder)).toEqual([
      'linked: is a symbolic link, which is not followed',
      'a/SKILL.md: is a symbolic link, which is not followed',
    ])
  })

  it('cyclic, missing and impossible imports are reported and do no harm', async () => {
    const folder = folderWith({
      'a/SKILL.md': skillFile('description: d\nimports: [b]', 'A'),
      'b/SKILL.md': skillFile('description: d\nimports: [a, nowhere, "../x"]', 'B'),
      'self/SKILL.md': skillFile('description: d\nimports: self', 'S'),
    })
    const skills = loadSkills([{ path: folder }])
    expect(problemsOf(skills, folder)).toEqual([
      'a: imports itself through its imports, which has no effect',
      'b: imports public.nowhere, which does not exist',
      'b: imports ../x, which does not exist',
      'b: imports itself through its imports, which has no effect',
      'self: imports itself through its imports, which has no effect',
    ])
    const bodies = async (path: string) => (await skills.read(path, call))?.text.split('\n\n').filter((_, index) => index % 2 === 0)
    expect(await bodies('sk:public.a')).toEqual(['ACTIVE 💡[ACTIVE SKILLS]', 'B', 'A'])
    expect(await bodies('sk:public.self')).toEqual(['ACTIVE 💡[ACTIVE SKILLS]', 'S'])
  })

  it('of two skills with the same name in one folder, the first is kept and the other reported', () => {
    const folder = folderWith({
      'a/SKILL.md': skillFile('description: first\nid: same'),
      'b/SKILL.md': skillFile('description: second\nid: same'),
    })
    const skills = loadSkills([{ path: folder }])
    expect(skills.list()).toMatchObject([{ path: 'sk:public.same', description: 'first' }])
    expect(problemsOf(skills, folder)).toEqual(['b: is left out: a has the same name public.same'])
  })

  it('rows of sources.yaml without an address or with a used number are left out and reported', async () => {
    const rows = [
      '- url: https://a.example/',
      '- title: no address',
      '- url: javascript:alert(1)',
      '- { sid: 1, url: "https://b.example/" }',
    ]
    const folder = folderWith({
      'a/SKILL.md': skillFile('description: d', 'See [[S:1]] and [[S:2]].'),
      'a/sources.yaml': `sources:\n${rows.map((row) => `  ${row}\n`).join('')}`,
      'b/SKILL.md': skillFile('description: d'),
      'b/sources.yaml': '{',
    })
    const skills = loadSkills([{ path: folder }])
    expect(problemsOf(skills, folder)).toEqual([
      'a/sources.yaml: row 2 has no address',
      'a/sources.yaml: row 3 has no address',
      'a/sources.yaml: row 4 has the number 1 of an earlier row',
      expect.stringContaining('b/sources.yaml: is not valid YAML'),
    ])
    expect(await skills.read('sk:public.a', call)).toMatchObject({ sources: [{ sid: 1, url: 'https://a.example/' }] })
  })

  it('an agent has at most 64 skills, and the others are reported', () => {
    const files = Array.from(
      { length: 70 },
      (_, n) => [`skill-${String(n).padStart(2, '0')}/SKILL.md`, skillFile('description: d')] as const,
    )
    const skills = loadSkills([{ path: folderWith(Object.fromEntries(files)) }])
    expect(skills.list()).toHaveLength(64)
    expect(skills.problems).toHaveLength(6)
  })

  it('only so many folders are looked into, and this is reported', () => {
    const folder = folderWith({ 'a/SKILL.md': skillFile('description: first'), 'z/z/SKILL.md': skillFile('description: last') })
    for (let n = 0; n < 30; n++) for (let m = 0; m < 50; m++) mkdirSync(join(folder, `n${n}`, `m${m}`), { recursive: true })
    const skills = openSkillFolders([folder])
    expect(namesOf(skills)).toEqual(['sk:public.a'])
    expect(skills.problems).toEqual([{ path: folder, problem: 'has more than 1000 folders, and the others are left out' }])
  })

  it('random files never throw, and give a skill or a problem', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '---\n',
        'description: d\n',
        'imports: [a, b]\n',
        'tools:\n',
        '  - id: x\n',
        'tags: {a: b}\n',
        '&a ',
        '*a ',
        '<<: ',
        '!!',
        '| \n',
        '\t',
        '"',
        "'",
        '[',
        '{',
      ),
      fc.string({ unit: 'binary', maxLength: 10 }),
    )
    const texts = fc.array(piece, { maxLength: 15 }).map((pieces) => pieces.join(''))
    const folder = folderWith({ 'a/readme.txt': '' })
    fc.assert(
      fc.property(texts, texts, fc.boolean(), (text, sources, isFramed) => {
        writeFileSync(join(folder, 'a/SKILL.md'), isFramed ? skillFile(`description: d\n${text}`) : text)
        writeFileSync(join(folder, 'a/sources.yaml'), sources)
        const skills = loadSkills([{ path: folder }])
        expect(skills.list().length + skills.problems.length).toBeGreaterThan(0)
        expect(skillCatalogText(skills.list()).length).toBeLessThan(4_000)
      }),
      { numRuns: 300 },
    )
  })

  it('a folder that does not exist is an error', () => {
    expect(() => loadSkills([{ path: '/nowhere/skills' }])).toThrow('ENOENT')
  })
})
