import { Command } from 'commander'
import type { DeletionView } from '../../../core/api/administration.ts'
import { localScope, type UserOrTenant } from '../../../core/scope.ts'
import type { CommandContext } from '../../context.ts'
import { withExamples } from '../../options.ts'
import { columns } from '../../table.ts'
import { plainLine, printLine } from '../../terminal.ts'
import { budgetsCommand } from './budgets.ts'
import { releaseCommand, tenantsCommand, workCommand } from './work.ts'

/** The command `admin`: what operators do with the data of all users. */
export function adminCommand(context: CommandContext): Command {
  const command = new Command('admin').description(
    'for operators: tenants, budgets, work and leases of a store, and deletion of a user or tenant',
  )
  const parts = [tenantsCommand, budgetsCommand, workCommand, releaseCommand, deleteUserCommand, deleteTenantCommand]
  for (const each of parts) command.addCommand(each(context))
  return withExamples(command, [
    ['daybook admin tenants', ''],
    ['daybook admin budgets set tenant/acme --money 100', ''],
    ['daybook admin work', 'what is parked, what waits, and which processes run turns'],
    ['daybook admin release acme/web/ann/c1', ''],
    ['daybook admin delete-user ann --tenant acme --project web --yes', ''],
    ['daybook admin delete-tenant acme --yes --json > receipt.json', ''],
  ])
}

interface DeleteFlags {
  readonly tenant?: string
  readonly project?: string
  readonly yes?: true
  readonly json?: true
}

const withDeleteFlags = (command: Command) =>
  command.option('--yes', 'delete; without this option nothing is deleted').option('--json', 'print the receipt as JSON')

function deleteUserCommand(context: CommandContext): Command {
  const command = withDeleteFlags(new Command('delete-user'))
    .description('delete everything of a user, and print a receipt: what was removed, and what remains and why')
    .argument('<user>')
    .option('--tenant <name>', 'the tenant of the user', localScope.tenant)
    .option('--project <name>', 'the project of the user', localScope.project)
    .action((user: string, { tenant = localScope.tenant, project = localScope.project, ...flags }: DeleteFlags) =>
      deleteOwner(context, command, { tenant, project, user }, `the user ${user} in ${tenant}/${project}`, flags),
    )
  return withExamples(command, [['daybook admin delete-user ann --tenant acme --project web --yes', '']])
}

function deleteTenantCommand(context: CommandContext): Command {
  const command = withDeleteFlags(new Command('delete-tenant'))
    .description('delete everything of all users of a tenant, and print a receipt')
    .argument('<tenant>', 'the tenant')
    .action((tenant: string, flags: DeleteFlags) => deleteOwner(context, command, { tenant }, `all users of the tenant ${tenant}`, flags))
  return withExamples(command, [['daybook admin delete-tenant acme --yes', '']])
}

async function deleteOwner(
  { terminal, withConversations }: CommandContext,
  command: Command,
  owner: UserOrTenant,
  description: string,
  { yes, json }: DeleteFlags,
): Promise<void> {
  if (!yes) command.error(`error: this deletes ${plainLine(description)}, for ever: add --yes to do so`)
  await withConversations(async (client) => {
    const receipt = await client.deleteOwner(owner)
    if (json) return printLine(terminal, JSON.stringify(receipt, undefined, 2))
    for (const line of receiptLines(receipt)) printLine(terminal, line)
  })
}

function receiptLines({ receipt_id, started_at, finished_at, tables, files, prefixes, remains }: DeletionView): readonly string[] {
  const removed = [
    ...Object.entries(tables).map(([table, rows]) => [`table ${table}`, rows] as const),
    ...Object.entries(files).map(([kind, count]) => [`files: ${kind}`, count] as const),
  ]
  return [
    `receipt ${receipt_id}, ${started_at} to ${finished_at}`,
    '',
    ...columns([['removed', 'count'], ...removed]),
    '',
    'no file is left below these paths',
    ...prefixes.map((prefix) => `  ${plainLine(prefix)}`),
    '',
    'remains',
    ...remains.map(({ what, why, count }) => `  ${what}${count === undefined ? '' : ` (${count})`}: ${why}`),
  ]
}
