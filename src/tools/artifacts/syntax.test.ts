import { describe, expect, it } from 'vitest'
import { syntaxProblem } from './syntax.ts'

describe('syntaxProblem', () => {
  it.each([
    ['a.json', '{"a": [1, 2]}'],
    ['a.js', 'with (a) { b }\nvar c = 010\nreturned = () => await1'],
    ['a.mjs', 'import x from "nowhere"\nexport const y = await x()\nprocess.exit(1)'],
    ['a.ts', 'enum Colour { Red }\nexport const a: Colour = Colour.Red satisfies Colour'],
    ['a.html', '<!doctype html><title>a < b</title><script>if (a < b) "<p>"</script><p>Unclosed is fine<!-- -->'],
    ['a.py', 'def f(a="(", b=\'"\'):  # it\'s (\n    """a ( "quoted" ["""\n    return f"{a[0]}" + r"\\d" + {"k": [1]}["k"]\n'],
    ['a.tsx', "const a = <b>it's fine</b> (("],
    ['a.md', '((('],
  ])('accepts %s', async (name, text) => {
    expect(await syntaxProblem(name, text)).toBeUndefined()
  })

  it.each([
    ['a.json', '{"a": 1,}', /JSON/],
    ['a.js', 'const a = 1\nconst b = (\n', /Unexpected end of input/],
    ['a.mjs', 'import x from "y"\nexport const a = }\n', /Unexpected token '}'/],
    ['a.cjs', 'const a = 1\nif (a {\n}', /^line 2: Unexpected token '{'$/],
    ['a.ts', 'const a = 1\nconst b: number = ;\n', /^line 2: Expression expected$/],
    ['a.html', '<p>\n<script>let a = 1', /^line 2: <script> is not closed$/],
    ['a.html', '<p><!-- and so on </p>', /^line 1: a comment is not closed$/],
    ['a.py', 'print((1)\nx = 2\n', /^line 1: "\(" is not closed$/],
    ['a.py', 'x = [1)\n', /^line 1: "\)" closes nothing$/],
    ['a.py', '\nx = """abc\n', /^line 2: a string in triple quotes is not closed$/],
    ['a.py', 'x = "abc\ny = 1\n', /^line 1: a string is not closed$/],
    ['a.txt', '', /empty/],
  ])('reports the error in %s: %j', async (name, text, problem) => {
    expect(await syntaxProblem(name, text)).toMatch(problem)
  })

  it.each(['a.js', 'a.ts'])('gives no verdict on a %s that breaks the compiler, and still checks the next file', async (name) => {
    expect(await syntaxProblem(name, '('.repeat(200_000))).toBeUndefined()
    expect(await syntaxProblem(name, 'const a = ;')).toMatch(/expected|Unexpected/)
    expect(await syntaxProblem(name, 'const a = 1')).toBeUndefined()
  })

  it('checks Python with very long strings', async () => {
    expect(await syntaxProblem('a.py', `x = """${'a'.repeat(900_000)}"""\n`)).toBeUndefined()
    expect(await syntaxProblem('a.py', `x = """${'\\"'.repeat(400_000)}`)).toMatch(/triple/)
  })

  it('never runs the text', async () => {
    await syntaxProblem('a.js', 'require("node:fs").writeFileSync("never", "")')
    await syntaxProblem('a.mjs', 'import "./never.mjs"\nglobalThis.never = true; while (true) {}')
    expect(globalThis).not.toHaveProperty('never')
  })
})
