import { isId } from './safety.ts'

/**
 * The path of a skill. `named` has the namespace and the id: `sk:public.pdf`. `listed` has the number of the skill in a list of skills:
 * `sk:SK3`. `hidden` has a key of ten hex digits in place of an id that the agent may not see: `sk:hidden-guidance-0123456789`.
 */
export type SkillPath =
  | { readonly space: 'sk'; readonly kind: 'named'; readonly namespace: string; readonly id: string }
  | { readonly space: 'sk'; readonly kind: 'listed'; readonly number: number }
  | { readonly space: 'sk'; readonly kind: 'hidden'; readonly key: string }

const listed = /^(?:SK)?0*([1-9][0-9]{0,8})$/i
const hidden = /^hidden-guidance-([0-9a-f]{10})$/

/** Parses the text after `sk:`, `skill:` or `skills.`. A skill id without a dot belongs to the namespace `public`. */
export function parseSkill(body: string): SkillPath | undefined {
  const number = listed.exec(body)?.[1]
  if (number !== undefined) return { space: 'sk', kind: 'listed', number: Number(number) }
  const key = hidden.exec(body)?.[1]
  if (key !== undefined) return { space: 'sk', kind: 'hidden', key }
  const dot = body.indexOf('.')
  const namespace = dot === -1 ? 'public' : body.slice(0, dot)
  const id = body.slice(dot + 1)
  return isId(namespace) && id.split('.').every(isId) ? { space: 'sk', kind: 'named', namespace, id } : undefined
}

export function formatSkill(path: SkillPath): string {
  switch (path.kind) {
    case 'named':
      return `sk:${path.namespace}.${path.id}`
    case 'listed':
      return `sk:SK${path.number}`
    case 'hidden':
      return `sk:hidden-guidance-${path.key}`
    default:
      return path satisfies never
  }
}
