import { z } from 'zod'

/** A check of the machine on which a server runs, as `daybook doctor` makes it. */
export const MachineCheck = z.object({
  name: z.string(),
  ok: z.boolean(),
  /** Whether Daybook can work only if this check succeeds. */
  required: z.boolean(),
  found: z.string(),
  /** What to do when the check fails. */
  advice: z.string().optional(),
})
export type MachineCheck = z.infer<typeof MachineCheck>

/** What a page needs to know about the server and its agent. */
export const InfoView = z.object({
  version: z.string(),
  user: z.string(),
  operator: z.boolean(),
  /** The name of the model that answers if a message chooses none. */
  model: z.string(),
  /** The names of the models that a message can choose. */
  models: z.array(z.string()),
  attachments: z.object({ files: z.number(), message_bytes: z.number() }),
})
export type InfoView = z.infer<typeof InfoView>

/** The checks of `daybook doctor` on the machine of the server. */
export const DoctorView = z.object({ checks: z.array(MachineCheck) })
export type DoctorView = z.infer<typeof DoctorView>
