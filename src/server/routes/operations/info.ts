import { createRequire } from 'node:module'
import { createRoute } from '@hono/zod-openapi'
import { DoctorView, InfoView, type MachineCheck } from '../../../core/api/info.ts'
import { isOperator, requireOperator } from '../../auth/viewer.ts'
import { type App, createRoutes, type ServerParts } from '../../handler.ts'
import { json, problems } from '../openapi.ts'

const { version } = createRequire(import.meta.url)('daybook/package.json') as { version: string }

/** How long the results of the machine checks are reused, in milliseconds. The checks start programs and read folders, which takes time. */
const checksMs = 30_000

/** Routes about the server: what its agent offers, and what works on its machine. These routes change nothing. */
export function infoRoutes({ agent, settings, checkMachine = async () => [] }: ServerParts): App {
  let last: { readonly checks: Promise<readonly MachineCheck[]>; readonly at: number } | undefined
  function machineChecks(): Promise<readonly MachineCheck[]> {
    const now = performance.now()
    if (!last || now - last.at > checksMs) last = { checks: checkMachine(), at: now }
    return last.checks
  }
  return createRoutes()
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/info',
        summary: 'The version of the server, the models that a message can choose, and the limits of attachments',
        responses: { 200: json(InfoView, 'about the server'), ...problems(401) },
      }),
      (c) => {
        const caller = c.get('caller')
        const { model, models, attachments } = agent.about
        const bytes = Math.min(attachments.messageBytes, settings.maxUploadBytes)
        return c.json(
          {
            version,
            user: caller.scope.user,
            operator: isOperator(caller),
            model,
            models: [...models],
            attachments: { files: attachments.files, message_bytes: bytes },
          },
          200,
        )
      },
    )
    .openapi(
      createRoute({
        method: 'get',
        path: '/v1/doctor',
        summary: 'What works on the machine of the server; for operators',
        responses: { 200: json(DoctorView, 'the checks'), ...problems(401, 403) },
      }),
      async (c) => {
        requireOperator(c)
        return c.json({ checks: [...(await machineChecks())] }, 200)
      },
    ) as App
}
