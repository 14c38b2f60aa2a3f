import { Command, InvalidArgumentError } from 'commander'
import type { Budget, BudgetControl, BudgetLimits } from '../../../agent/budgets/budget-control.ts'
import { createClient } from '../../../client/client.ts'
import { openArchive } from '../../../wiring/open-agent.ts'
import type { CommandContext } from '../../context.ts'
import { allPages } from '../../conversation-client.ts'
import { wholeNumber, withExamples } from '../../options.ts'
import { columns, formatNumber } from '../../table.ts'
import { plainLine, printLine } from '../../terminal.ts'

/** The operations that the commands need. A local store and a server both offer them. */
type Budgets = Pick<BudgetControl, 'list' | 'get' | 'set' | 'remove'>

/**
 * Opens all budgets of the store. On a server, opens the budgets of the tenant of the token. The agent module is loaded, because it may set
 * limits.
 */
async function withBudgets<T>(context: CommandContext, use: (budgets: Budgets) => Promise<T>, { create = false } = {}): Promise<T> {
  const settings = await context.settingsWithAgent()
  const { server, token } = settings
  if (server !== undefined) return use(remoteBudgets(server, token))
  const { budgets, close } = await openArchive(settings, { create })
  try {
    return await use(budgets)
  } finally {
    await close()
  }
}

function remoteBudgets(baseUrl: string, token: string | undefined): Budgets {
  const client = createClient({ baseUrl, ...(token !== undefined && { token }) })
  return {
    list: (query = {}) => client.budgets(query) as ReturnType<Budgets['list']>, // the response has the fields of `Budget`
    async get(name) {
      const { budgets } = await client.budgets({ prefix: name, limit: 1 })
      const found = budgets.find((budget) => budget.name === name)
      if (found) return found as Budget
      throw new RangeError(`the server has not used the budget ${name}, and no limits were set for it`)
    },
    set: (name, limits) => client.setBudget(name, limits && { ...limits }) as ReturnType<Budgets['set']>,
    async remove() {
      throw new RangeError('a server does not remove budgets: run this command without --server, with the data folder or the database')
    },
  }
}

/** The command `admin budgets`. */
export function budgetsCommand(context: CommandContext): Command {
  const command = new Command('budgets').description('list, show and change the budgets of all tenants')
  for (const each of [listCommand, showCommand, setCommand, clearCommand, removeCommand])
    command.addCommand(each(context), { isDefault: each === listCommand })
  return withExamples(command, [
    ['daybook admin budgets', 'all budgets, with what is left'],
    ['daybook admin budgets set tenant/acme --money 100 --tokens 50000000', ''],
    ['daybook admin budgets clear tenant/acme', 'the limits of the settings apply again'],
  ])
}

const nameText = 'day, day/TENANT, tenant/TENANT, user/TENANT/PROJECT/USER or conversation/ID'

function listCommand(context: CommandContext): Command {
  const { terminal } = context
  const command = new Command('list')
    .description('list the budgets that have limits or were used, in the order of their names')
    .argument('[prefix]', 'only budgets whose names begin with this text, such as user/acme/')
    .option('--json', 'print them as JSON')
    .action((prefix: string | undefined, { json }: { json?: true }) =>
      withBudgets(context, async (budgets) => {
        const found = await allPages(async (cursor) => {
          const query = { limit: 100, ...(prefix !== undefined && { prefix }), ...(cursor !== undefined && { cursor }) }
          const { budgets: items, next } = await budgets.list(query)
          return { items, next }
        })
        if (json) return printLine(terminal, JSON.stringify(found, undefined, 2))
        if (found.length === 0) return printLine(terminal, 'no budget has limits or was used')
        for (const line of table(found)) printLine(terminal, line)
      }),
    )
  return withExamples(command, [['daybook admin budgets list user/acme/ --json', '']])
}

function showCommand(context: CommandContext): Command {
  const command = new Command('show')
    .description('show one budget')
    .argument('<name>', nameText)
    .option('--json', 'print it as JSON')
    .action((name: string, { json }: { json?: true }) =>
      withBudgets(context, async (budgets) => print(context, await budgets.get(name), json)),
    )
  return withExamples(command, [['daybook admin budgets show day/acme', '']])
}

function setCommand(context: CommandContext): Command {
  const command = new Command('set')
    .description('set the limits of a budget; servers apply them within about a second')
    .argument('<name>', nameText)
    .option('--tokens <n>', 'how many tokens may be spent', wholeNumber)
    .option('--money <amount>', 'how many US dollars may be spent', money)
    .option('--unlimited', 'no limits, even if the settings limit this budget')
    .option('--json', 'print the budget as JSON')
    .action((name: string, { json, unlimited, ...limits }: BudgetLimits & { unlimited?: true; json?: true }) => {
      const isLimited = limits.tokens !== undefined || limits.money !== undefined
      if (isLimited === (unlimited === true)) command.error('error: give --tokens, --money or both; or --unlimited alone')
      return withBudgets(context, async (budgets) => print(context, await budgets.set(name, limits), json), { create: true })
    })
  return withExamples(command, [
    ['daybook admin budgets set tenant/acme --money 100', 'tokens are then not limited'],
    ['daybook admin budgets set user/acme/web/ann --unlimited', ''],
  ])
}

function clearCommand(context: CommandContext): Command {
  const command = new Command('clear')
    .description('remove the limits that were set for a budget, so that the limits of the settings apply; what was spent stays counted')
    .argument('<name>', nameText)
    .option('--json', 'print the budget as JSON')
    .action((name: string, { json }: { json?: true }) =>
      withBudgets(context, async (budgets) => print(context, await budgets.set(name, null), json)),
    )
  return withExamples(command, [['daybook admin budgets clear tenant/acme', '']])
}

function removeCommand(context: CommandContext): Command {
  const { terminal } = context
  const command = new Command('remove')
    .description('remove a budget with its limits and with what was spent')
    .argument('<name>', nameText)
    .action((name: string) =>
      withBudgets(context, async (budgets) => {
        const { name: known } = await budgets.get(name) // throws if the name is not valid
        const text = (await budgets.remove(known)) ? 'removed' : 'there is nothing to remove'
        printLine(terminal, `${plainLine(name)}: ${text}`)
      }),
    )
  return withExamples(command, [['daybook admin budgets remove conversation/costs', '']])
}

function print({ terminal }: CommandContext, budget: Budget, json: true | undefined): void {
  for (const line of json ? [JSON.stringify(budget, undefined, 2)] : table([budget])) printLine(terminal, line)
}

const table = (budgets: readonly Budget[]): readonly string[] =>
  columns([
    ['budget', 'limit', 'spent', 'reserved', 'left'],
    ...budgets.map(({ name, limits, spent, reserved, left }) => [
      ...[plainLine(name), amountText(limits), amountText(spent), amountText(reserved), amountText(left)],
    ]),
  ])

/**
 * The limits as a text such as `50,000 tokens $1.25`. An amount without a limit is left out. Without any limit, the text is `unlimited`.
 */
function amountText({ tokens, money: amount }: BudgetLimits): string {
  const parts = [
    ...(tokens === undefined ? [] : [`${formatNumber(tokens)} tokens`]),
    ...(amount === undefined ? [] : [`$${Number(amount.toFixed(6))}`]),
  ]
  return parts.length === 0 ? 'unlimited' : parts.join(' ')
}

function money(text: string): number {
  const amount = Number(text)
  if (text.trim() !== '' && amount >= 0 && amount <= 1e9) return amount
  throw new InvalidArgumentError('must be an amount from 0 to 1000000000, such as 12.50')
}
