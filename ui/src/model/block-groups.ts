/** The groups in which block types are shown. Each has a colour. */
export const blockGroups = ['system', 'user', 'thinking', 'call', 'result', 'answer', 'plan', 'summary', 'notice', 'tail'] as const
export type BlockGroup = (typeof blockGroups)[number]

export const groupNames: { readonly [G in BlockGroup]: string } = {
  system: 'System',
  user: 'User',
  thinking: 'Thinking and notes',
  call: 'Calls',
  result: 'Results and files',
  answer: 'Answers',
  plan: 'Plans',
  summary: 'Summaries',
  notice: 'Notices and events',
  tail: 'Tail',
}

/**
 * The colours of the groups in light and dark mode. They also differ in lightness, so that people who do not see colours can distinguish
 * them.
 */
export const groupColors: { readonly [G in BlockGroup]: string } = {
  system: 'light-dark(#8b8982, #6d6b65)',
  user: 'light-dark(#1f5f8b, #7db8de)',
  thinking: 'light-dark(#b9a7e0, #8d7fc4)',
  call: 'light-dark(#c77f1e, #d99f4c)',
  result: 'light-dark(#e6c48a, #8d6f3d)',
  answer: 'light-dark(#2f7a4a, #74bd8d)',
  plan: 'light-dark(#4fa3a0, #4d9a97)',
  summary: 'light-dark(#a04f86, #cf83b7)',
  notice: 'light-dark(#c9584f, #e0857d)',
  tail: 'light-dark(#c9c7c0, #4a4945)',
}

/** The group of a block type. Types that this version does not know are in the group of the system. */
export function groupOf(type: string): BlockGroup {
  if (type === 'tail') return 'tail'
  if (type.startsWith('user.')) return 'user'
  if (type.startsWith('assistant.')) return 'answer'
  if (type.startsWith('react.plan')) return 'plan'
  if (type.startsWith('react.tool.call')) return 'call'
  if (type.startsWith('react.tool.') || type.startsWith('artifact') || type.startsWith('react.workspace')) return 'result'
  if (type.startsWith('react.thinking') || type.startsWith('react.note')) return type === 'react.notice' ? 'notice' : 'thinking'
  if (type.startsWith('conv.') || type.includes('checkpoint')) return 'summary'
  if (type.startsWith('react.') || type.startsWith('event.') || type.startsWith('turn.feedback')) return 'notice'
  return 'system'
}
