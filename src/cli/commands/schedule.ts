import { Command, InvalidArgumentError } from 'commander'
import type { CommandContext } from '../context.ts'
import { conversationName, withExamples } from '../options.ts'
import { plainLine, printLine } from '../terminal.ts'

interface AddFlags {
  readonly at?: string
  readonly every?: number
  readonly id?: string
  readonly notify?: true
}

/** The command `schedule`: messages that are sent at a later time. A server sends them. */
export function scheduleCommand({ terminal, style, withConversations }: CommandContext): Command {
  const add = new Command('add')
    .description('send a message at a later time, once or again and again')
    .argument('<conversation>', 'the conversation; it is created if it does not exist', conversationName)
    .argument('<text>')
    .option('--at <time>', 'when it is sent first, such as 2030-01-31T09:00:00+01:00 (default: after one interval)')
    .option('--every <interval>', 'send it again and again: seconds, or a number with s, m, h or d, such as 12h', seconds)
    .option('--id <id>', 'a name for the schedule; with the same name, a second command has no effect')
    .option('--notify', 'send it as an event of an application: it starts no turn')
    .action(async (conversation: string, text: string, { at, every, id, notify }: AddFlags) => {
      if (at === undefined && every === undefined) add.error('error: say when: --at <time>, --every <interval>, or both')
      const schedule = {
        text,
        ...(at !== undefined && { at: timeOf(add, at) }),
        ...(every !== undefined && { every }),
        ...(id !== undefined && { schedule_id: id }),
        ...(notify && { notification: {} }),
      }
      await withConversations(
        async (client) => {
          const { status, schedule_id, next_at } = await client.schedule(conversation, schedule)
          const what = status === 'added' ? 'scheduled' : 'was scheduled before and is not changed'
          printLine(terminal, `${schedule_id} ${what}${next_at === null ? ': it was sent for the last time' : `, next at ${next_at}`}`)
          printLine(terminal, style.dim('daybook serve sends it; a server that runs needs no restart'))
        },
        { create: true },
      )
    })
  const list = new Command('list')
    .description('list the messages that will be sent, the next one first')
    .argument('[conversation]', 'only this conversation', conversationName)
    .action((conversation?: string) =>
      withConversations(async (client) => {
        const schedules = await client.schedules(conversation)
        if (schedules.length === 0) printLine(terminal, 'nothing is scheduled')
        for (const { conversation_id, schedule_id, next_at, every, kind, text, sent } of schedules) {
          const facts = [every !== undefined && `every ${every} s`, sent > 0 && `sent ${sent} times`, kind !== 'message' && kind]
          const note = facts.filter((fact) => fact !== false).join(', ')
          printLine(terminal, `${style.dim(next_at)}  ${conversation_id}  ${style.bold(schedule_id)}${note && `  (${note})`}`)
          printLine(terminal, `    ${plainLine(text)}`)
        }
      }),
    )
  const remove = new Command('remove')
    .description('remove a schedule')
    .argument('<conversation>', 'the conversation', conversationName)
    .argument('<id>', 'the schedule, as the list shows it')
    .action((conversation: string, id: string) =>
      withConversations(async (client) => {
        await client.unschedule(conversation, id)
        printLine(terminal, `removed ${id}`)
      }),
    )
  const command = new Command('schedule').description('messages that a server sends at a later time')
  for (const each of [add, list, remove]) command.addCommand(each)
  return withExamples(command, [
    ['daybook schedule add costs "Compare the costs of this week with the last one." --every 7d', ''],
    ['daybook schedule add costs "Remind me of the meeting." --at 2030-01-31T09:00:00+01:00', ''],
    ['daybook schedule list', ''],
    ['daybook schedule remove costs 5d6e7f', ''],
  ])
}

const units: { readonly [unit: string]: number } = { '': 1, s: 1, m: 60, h: 3_600, d: 86_400 }

function seconds(text: string): number {
  const [, number, unit = ''] = /^(\d{1,9})([smhd]?)$/.exec(text.trim()) ?? []
  const value = Number(number) * (units[unit] ?? 1)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new InvalidArgumentError('must be seconds, or a number with s, m, h or d, such as 90, 15m or 7d')
}

/** Parses a time. A time without a zone is in the zone of this machine. */
function timeOf(command: Command, text: string): string {
  const time = new Date(text)
  if (Number.isNaN(time.getTime())) command.error(`error: --at must be a time such as 2030-01-31T09:00:00+01:00, not "${plainLine(text)}"`)
  return time.toISOString()
}
