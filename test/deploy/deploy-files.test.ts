import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { effectiveSettings, environmentLayer } from '../../src/config/config.ts'
import { defaultServerSettings } from '../../src/server/settings.ts'
import { createCommandLine } from '../support/command-line.ts'
import { closeServers, openServer } from '../support/server-fixture.ts'

const folder = join(import.meta.dirname, '../../deploy')
const read = (name: string) => readFileSync(join(folder, name), 'utf8')
const units = ['systemd/daybook.service', 'systemd/daybook-worker.service']
const line = createCommandLine()
afterAll(() => line.remove())

interface Resource {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  /** The fields of all kinds that the tests look at. A test fails if its kind lacks one. */
  readonly spec: {
    readonly template: { readonly metadata: { readonly labels: Labels }; readonly spec: Pod }
    readonly selector: Labels & { readonly matchLabels: Labels }
    readonly scaleTargetRef: { readonly name: string }
    readonly metrics: readonly { readonly external: { readonly metric: { readonly name: string } } }[]
  }
}
type Labels = Readonly<Record<string, unknown>>
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Container {
  readonly args: readonly string[]
  readonly envFrom: readonly { readonly configMapRef?: { readonly name: string }; readonly secretRef?: { readonly name: string } }[]
  readonly ports: readonly object[]
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly volumeMounts: readonly { readonly name: string }[]
}
interface Pod {
  readonly containers: readonly [Container]
  readonly volumes: readonly { readonly name: string }[]
  readonly terminationGracePeriodSeconds: number
  readonly securityContext: { readonly runAsNonRoot: boolean }
}
const resources = parseAllDocuments(read('kubernetes/daybook.yaml')).map((document) => {
  expect(document.errors).toEqual([])
  return document.toJS() as Resource
})
const ofKind = (kind: string) => resources.filter((each) => each.kind === kind)
const podsOf = (kind: string) => ofKind(kind).map(({ spec }) => spec.template.spec)

/** The commands of all files: the arguments of `daybook`. */
const commands: readonly (readonly string[])[] = [
  ...[...podsOf('Job'), ...podsOf('Deployment')].map(({ containers }) => containers[0].args),
  ...units.map((unit) => (/^ExecStart=\S+ \S+daybook\.js (.+)$/m.exec(read(unit))?.[1] ?? '').split(' ')),
  JSON.parse(/^CMD (\[.*\])$/m.exec(read('Dockerfile'))?.[1] ?? '[]') as string[],
]

let paths: readonly string[] = []
let metrics = ''
beforeAll(async () => {
  const { client } = await openServer({})
  paths = Object.keys(((await client.openapi()) as { paths: object }).paths)
  metrics = await client.metrics()
  await closeServers()
})

it('every command and every option exists', async () => {
  expect(commands).toHaveLength(6)
  for (const [command = '', ...options] of commands) {
    const { exitCode, text } = await line.run(command, '--help')
    expect({ command, exitCode }).toEqual({ command, exitCode: 0 })
    for (const option of options.filter((each) => each.startsWith('--'))) expect(text).toContain(`${option} `)
  }
})

it('every variable is a setting, with a valid value', () => {
  const texts = ['Dockerfile', 'kubernetes/daybook.yaml', ...units].map(read)
  const named = new Set(texts.flatMap((text) => [...text.matchAll(/DAYBOOK_[A-Z0-9_]+/g)].map(([name]) => name)))
  expect(named.size).toBeGreaterThan(8)
  for (const name of named) expect(Object.keys(environmentLayer({ [name]: '1' }).values), name).toHaveLength(1)
  const environment = { ...ofKind('ConfigMap')[0]?.data, ...ofKind('Secret')[0]?.stringData }
  const { settings } = effectiveSettings([environmentLayer(environment)])
  expect(settings).toMatchObject({ data: '/data', port: 3100, sandbox: 'off', databaseUrl: 'postgres://daybook@db.example/daybook' })
})

it('probes, ports, selectors, volumes and references of the manifests fit together, and pods have time to drain', () => {
  const names = (kind: string) => ofKind(kind).map(({ metadata }) => metadata.name)
  for (const pod of [...podsOf('Deployment'), ...podsOf('Job')]) {
    for (const { configMapRef, secretRef } of pod.containers[0].envFrom)
      expect(configMapRef ? names('ConfigMap') : names('Secret')).toContain((configMapRef ?? secretRef)?.name)
  }
  const port = Number(ofKind('ConfigMap')[0]?.data?.DAYBOOK_PORT)
  expect(ofKind('Deployment')).toHaveLength(2)
  for (const { spec } of ofKind('Deployment')) {
    const { containers, volumes, terminationGracePeriodSeconds, securityContext } = spec.template.spec
    const [{ ports, livenessProbe, readinessProbe, volumeMounts }] = containers
    expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels)
    expect(ports).toEqual([{ name: 'http', containerPort: port }])
    for (const { httpGet } of [livenessProbe, readinessProbe]) {
      expect(paths).toContain(httpGet.path)
      expect(httpGet.port).toBe('http')
    }
    expect(volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name))
    expect(terminationGracePeriodSeconds * 1_000).toBeGreaterThan(2 * defaultServerSettings.drainMs)
    expect(securityContext.runAsNonRoot).toBe(true)
  }
  const labels = ofKind('Deployment').map(({ spec }) => spec.template.metadata.labels)
  for (const { spec } of ofKind('PodDisruptionBudget')) expect(labels).toContainEqual(spec.selector.matchLabels)
  for (const { spec } of ofKind('Service')) expect(labels).toContainEqual(spec.selector)
  const [scaler] = ofKind('HorizontalPodAutoscaler')
  expect(names('Deployment')).toContain(scaler?.spec.scaleTargetRef.name)
  expect(metrics).toContain(`# TYPE ${scaler?.spec.metrics[0]?.external.metric.name} `)
})

it('the image runs as a user, on the port that its check asks, and ends with SIGTERM', () => {
  const text = read('Dockerfile')
  expect(text).toMatch(/^USER node$/m)
  const port = /DAYBOOK_PORT=(\d+)/.exec(text)?.[1]
  expect(text).toContain(`EXPOSE ${port}`)
  const check = /fetch\('http:\/\/127\.0\.0\.1:(\d+)(\/\w+)'\)/.exec(text)
  expect(check?.[1]).toBe(port)
  expect(paths).toContain(check?.[2])
  expect(text).toMatch(/^ENTRYPOINT \["tini", "--", "node", "node_modules\/daybook\/bin\/daybook\.js"\]$/m)
})

it('systemd waits for the drain, and the units lack the restrictions that the sandbox can not bear', () => {
  for (const text of units.map(read)) {
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1]) * 1_000).toBeGreaterThan(2 * defaultServerSettings.drainMs)
    expect(text).not.toMatch(/^(?:RestrictNamespaces|ProtectKernelTunables|PrivateDevices|SystemCallFilter|ProtectProc)=/m)
    const folder = /^StateDirectory=(.+)$/m.exec(text)?.[1]
    expect(text).toContain(`DAYBOOK_DATA=/var/lib/${folder} `)
  }
})

const canVerify = spawnSync('systemd-analyze', ['--version']).status === 0

it.skipIf(!canVerify)('systemd accepts the units, and would name a mistake', () => {
  const verify = (files: readonly string[]) => {
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' })
    // a machine without the service manager, the user or the program is no mistake of the units
    const isMistake = (line: string) => units.some((unit) => line.includes(basename(unit))) && !line.includes('is not executable')
    return `${stdout}${stderr}`.split('\n').filter(isMistake)
  }
  expect(verify(units.map((unit) => join(folder, unit)))).toEqual([])
  const broken = mkdtempSync(join(tmpdir(), 'daybook-units-'))
  for (const unit of units) writeFileSync(join(broken, basename(unit)), read(unit).replace('Restart=always', 'Restarts=allways'))
  expect(verify(units.map((unit) => join(broken, basename(unit)))).join()).toContain('Restarts')
  rmSync(broken, { recursive: true })
})
