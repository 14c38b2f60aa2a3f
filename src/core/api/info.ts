import { z } from 'zod'

/** The result of one check of the machine on which a server runs. The command `daybook doctor` makes the same checks. */
export const MachineCheck = z.object({
  name: z.string().describe('What was checked.'),
  ok: z.boolean().describe('Whether the check succeeded.'),
  required: z.boolean().describe('True when Daybook does not work unless this check succeeds.'),
  found: z.string().describe('What was found.'),
  advice: z.string().optional().describe('What to do when the check fails.'),
})
export type MachineCheck = z.infer<typeof MachineCheck>

/** What a page needs to know about the server and its agent. */
export const InfoView = z.object({
  version: z.string().describe('The version of the server.'),
  user: z.string().describe('The user to whom the token belongs.'),
  operator: z.boolean().describe('Whether the caller is an operator.'),
  model: z.string().describe('The name of the model that answers messages which choose no model.'),
  models: z.array(z.string()).describe('The names of the models that a message can choose.'),
  attachments: z
    .object({ files: z.number(), message_bytes: z.number() })
    .describe('The limits of attachments: the number of files in one message, and the number of bytes of its text and files together.'),
})
export type InfoView = z.infer<typeof InfoView>

/** The checks of `daybook doctor` on the machine of the server. */
export const DoctorView = z.object({ checks: z.array(MachineCheck).describe('The checks.') })
export type DoctorView = z.infer<typeof DoctorView>
