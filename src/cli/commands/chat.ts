import { Command } from 'commander'
import { errorMessage } from '../../core/failure.ts'
import type { ChatExit } from '../chat/chat-commands.ts'
import { runChat } from '../chat/chat-loop.ts'
import type { CommandContext } from '../context.ts'
import { conversationName, withExamples } from '../options.ts'
import { openSession } from '../session.ts'

interface ChatOptions {
  readonly conversation?: string
  readonly continue?: true
}

export function chatCommand(context: CommandContext): Command {
  const command = new Command('chat')
    .description('talk to the agent; /help inside says what can be done')
    .option('--conversation <id>', 'go on in this conversation; made when it is not there', conversationName)
    .option('--continue', 'go on in the conversation that was active last')
    .action((options: ChatOptions) => chat(context, options))
  return withExamples(command, [
    ['daybook chat', 'a new conversation'],
    ['daybook chat --continue', 'where you were last; what happened is shown'],
    ['daybook chat --server https://daybook.example --token "$TOKEN"', 'with an agent somewhere else'],
  ])
}

async function chat(context: CommandContext, options: ChatOptions): Promise<void> {
  const { terminal, style } = context
  const settings = await context.settings()
  const onProblem = (where: string, error: unknown) => terminal.errors.write(`${where}: ${errorMessage(error)}\n`)
  let wanted: { readonly conversation?: string; readonly latest?: boolean } = {
    ...(options.conversation !== undefined && { conversation: options.conversation }),
    ...(options.continue && { latest: true }),
  }
  let leaving: ChatExit
  do {
    const talk = await openSession(settings, { ...wanted, onProblem })
    try {
      leaving = await runChat(talk, context)
    } finally {
      await talk.close()
    }
    terminal.output.write(style.dim(`to go on: daybook chat --conversation ${talk.conversation.id}\n`))
    wanted = {}
  } while (leaving === 'new')
}
