import { createRoute, z } from '@hono/zod-openapi'
import type { Context } from 'hono'
import { deletionView } from '../../../agent/archive/administration.ts'
import { DeletionView } from '../../../core/api/administration.ts'
import { requireOperator } from '../../auth/viewer.ts'
import { type App, createRoutes, type Env, type ServerParts } from '../../handler.ts'
import { RequestProblem } from '../../problem.ts'
import { json, problems } from '../openapi.ts'

const name = z.string().min(1).max(256)

/** Routes with which operators delete users of their tenant, or the tenant. */
export function administrationRoutes({ agent: { archive } }: ServerParts): App {
  return createRoutes()
    .openapi(
      createRoute({
        method: 'delete',
        path: '/v1/tenants/{tenant}/projects/{project}/users/{user}',
        summary: 'Delete everything of a user of your tenant, and get a receipt; for operators',
        request: {
          params: z.object({
            tenant: name.describe('The tenant.'),
            project: name.describe('The project.'),
            user: name.describe('The user.'),
          }),
        },
        responses: { 200: json(DeletionView, 'what was removed, and what remains'), ...problems(400, 401, 403, 409) },
      }),
      async (c) => {
        const owner = c.req.valid('param')
        requireOperatorOf(c, owner.tenant)
        return c.json(deletionView(await archive.deleteOwner(owner)), 200)
      },
    )
    .openapi(
      createRoute({
        method: 'delete',
        path: '/v1/tenants/{tenant}',
        summary: 'Delete everything of all users of your tenant, and get a receipt; for operators',
        request: { params: z.object({ tenant: name.describe('The tenant.') }) },
        responses: { 200: json(DeletionView, 'what was removed, and what remains'), ...problems(400, 401, 403, 409) },
      }),
      async (c) => {
        const owner = c.req.valid('param')
        requireOperatorOf(c, owner.tenant)
        return c.json(deletionView(await archive.deleteOwner(owner)), 200)
      },
    ) as App
}

/** Throws a problem if the caller is not an operator of this tenant. */
function requireOperatorOf(c: Context<Env>, tenant: string): void {
  requireOperator(c)
  if (c.get('caller').scope.tenant !== tenant) throw new RequestProblem(403, 'role.refused', 'The token is for another tenant.')
}
