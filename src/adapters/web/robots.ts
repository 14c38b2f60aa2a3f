// Reads the file `robots.txt`, in which a site says which paths programs should not request (RFC 9309).

interface Rule {
  readonly allow: boolean
  readonly pattern: string
}

/** The rules of a site for this program. An empty list allows everything. */
export type RobotsRules = readonly Rule[]

export const forbidsEverything: RobotsRules = [{ allow: false, pattern: '/' }]

/** How many characters of a file are read at most. */
const maxLength = 500_000
const maxRules = 2_000

/** The rules for a program. If the file has a group with the name of the program, this group applies. Otherwise the group `*` applies. */
export function parseRobots(file: string, product: string): RobotsRules {
  const own: Rule[] = []
  const general: Rule[] = []
  let hasOwn = false
  let agents: string[] = []
  let inRules = false
  for (const line of file.slice(0, maxLength).split('\n')) {
    const text = line.split('#', 1)[0] ?? ''
    const colon = text.indexOf(':')
    if (colon < 0) continue
    const key = text.slice(0, colon).trim().toLowerCase()
    const value = text.slice(colon + 1).trim()
    if (key === 'user-agent') {
      if (inRules) agents = []
      inRules = false
      agents.push(value.toLowerCase())
      if (isProduct(value, product)) hasOwn = true
    } else if (key === 'allow' || key === 'disallow') {
      inRules = true
      if (value === '') continue
      const rule = { allow: key === 'allow', pattern: value }
      if (agents.some((agent) => isProduct(agent, product)) && own.length < maxRules) own.push(rule)
      if (agents.includes('*') && general.length < maxRules) general.push(rule)
    }
  }
  return hasOwn ? own : general
}

const isProduct = (agent: string, product: string) => agent.trim().toLowerCase().split('/', 1)[0] === product

/**
 * Whether the rules allow a path with its query. The longest matching pattern decides. If two matching patterns are equally long, `Allow`
 * decides.
 */
export function isAllowedByRobots(rules: RobotsRules, path: string): boolean {
  let best: Rule | undefined
  for (const rule of rules) {
    const isLonger = !best || rule.pattern.length > best.pattern.length || (rule.pattern.length === best.pattern.length && rule.allow)
    if (isLonger && matches(rule.pattern, path)) best = rule
  }
  return best?.allow ?? true
}

/** Whether a path begins with a pattern. `*` stands for any text, and `$` at the end of the pattern for the end of the path. */
function matches(pattern: string, path: string): boolean {
  const isWhole = pattern.endsWith('$')
  const [first = '', ...rest] = (isWhole ? pattern.slice(0, -1) : pattern).split('*')
  if (!path.startsWith(first)) return false
  let at = first.length
  for (const [index, part] of rest.entries()) {
    if (isWhole && index === rest.length - 1) return path.length - part.length >= at && path.endsWith(part)
    const found = path.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return !isWhole || at === path.length
}
