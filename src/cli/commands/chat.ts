import { Command } from 'commander'
import { errorMessage } from '../../core/failure.ts'
import type { ChatExit } from '../chat/chat-commands.ts'
import { runChat } from '../chat/chat-loop.ts'
import type { CommandContext } from '../context.ts'
import { conversationName, withExamples } from '../options.ts'
import { isStored, openSession } from '../session.ts'

interface ChatOptions {
  readonly conversation?: string
  readonly continue?: true
}

export function chatCommand(context: CommandContext): Command {
  const command = new Command('chat')
    .description('chat with the agent; /help lists the commands of the chat')
    .option('--conversation <id>', 'continue this conversation; created if it does not exist', conversationName)
    .option('--continue', 'continue the conversation that was active last')
    .action((options: ChatOptions) => chat(context, options))
  return withExamples(command, [
    ['daybook chat', 'a new conversation'],
    ['daybook chat --agent ./agent.ts', 'with your own agent'],
    ['daybook chat --continue', 'continues where you were last, and shows the last turns'],
    ['daybook chat --server https://daybook.example --token "$TOKEN"', 'with the agent of a server'],
  ])
}

async function chat(context: CommandContext, options: ChatOptions): Promise<void> {
  const { terminal, style } = context
  const settings = await context.settingsWithAgent()
  const onProblem = (where: string, error: unknown) => terminal.errors.write(`${where}: ${errorMessage(error)}\n`)
  let target: { readonly conversation?: string; readonly latest?: boolean } = {
    ...(options.conversation !== undefined && { conversation: options.conversation }),
    ...(options.continue && { latest: true }),
  }
  let exit: ChatExit
  do {
    const session = await openSession(settings, { ...target, onProblem })
    try {
      exit = await runChat(session, context)
    } finally {
      await session.close()
    }
    if (isStored(settings)) terminal.output.write(style.dim(`to continue: daybook chat --conversation ${session.conversation.id}\n`))
    target = {}
  } while (exit === 'new')
}
