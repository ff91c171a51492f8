import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Callers } from './callers.js'
import {
  Deployment,
  deploymentIsSkipped,
  deploymentTitle,
  edgeNames,
  engineNames,
  playedMs,
  type natsNames,
} from './deployment.js'

const log = (text: string): void => void process.stderr.write(`${text}\n`)

/** With RXSPEECH_ALERT_TIMES=real the times of the files count, and this takes a quarter of an hour. */
const isReal = process.env['RXSPEECH_ALERT_TIMES'] === 'real'
const shortTimes = (commands: string): string =>
  commands.replace(
    'promtool check',
    String.raw`sed -i 's/_interval: 15s/_interval: 1s/g' /etc/prometheus/prometheus.yml
sed -i 's/for: .*/for: 2s/; s/\[[0-9]*m\]/[10s]/g; s/> 60$/> 8/' /etc/prometheus/alerts.yml
promtool check`,
  )

// Processes and links, and times of alerts.
describe.skipIf(deploymentIsSkipped)(deploymentTitle('the deployment of docs/SCALING.md, with Prometheus'), () => {
  const opened: Deployment[] = []
  let deployment: Deployment
  let callers: Callers
  let token: string

  beforeAll(async () => {
    deployment = await Deployment.create()
    opened.push(deployment)
    await deployment.startPrometheus(isReal ? undefined : shortTimes)
    callers = deployment.openCallers()
    token = await deployment.newToken(callers)
  })
  afterAll(() => Promise.all(opened.map((one) => one.close())))

  interface Line {
    /** One of these has it. */
    readonly on: readonly string[]
    readonly sentence: RegExp
    readonly fields?: Readonly<Record<string, unknown>>
  }
  const linesOf = (name: string) => deployment.on(name).lines

  /** Makes something fail, and waits for its alert and for the line of the log that names the cause. */
  const expectAlert = async (
    failure: string,
    fail: () => Promise<unknown>,
    alert: Readonly<Record<string, string>>,
    { on, sentence, fields = {} }: Line,
  ): Promise<void> => {
    const atMs = Date.now()
    const since = on.map((name) => linesOf(name).length)
    await fail()
    const named = (): unknown =>
      on
        .flatMap((name, index) => linesOf(name).slice(since[index]))
        .find((line) => sentence.test(String(line['message'] ?? line['msg'])) && matches(line, fields))
    await expect.poll(named, { timeout: 60_000, interval: 50 }).toBeDefined()
    const lineMs = Date.parse(String((named() as Readonly<Record<string, unknown>>)['time'])) - atMs
    const { alertname, ...labels } = alert
    const fires = async (): Promise<boolean> =>
      (await deployment.alerts()).some((one) => matches(one, { alertname: `Rxspeech${alertname}`, ...labels }))
    await expect.poll(fires, { timeout: isReal ? 600_000 : 60_000, interval: 250 }).toBe(true)
    log(
      `${failure}: ${JSON.stringify(alert)} after ${Date.now() - atMs} ms; ${on.join(' or ')}: ${sentence} after ${lineMs} ms`,
    )
  }
  const matches = (found: Readonly<Record<string, unknown>>, wanted: Readonly<Record<string, unknown>>): boolean =>
    Object.entries(wanted).every(([name, value]) => found[name] === value)
  const quiet = (): Promise<unknown> =>
    expect.poll(() => deployment.alerts(), { timeout: isReal ? 900_000 : 60_000, interval: 250 }).toEqual([])

  it('has no alert while calls run, also while an edge and an engine process are restarted', async () => {
    await quiet()
    const running = (['grpc', 'websocket'] as const).map((over) =>
      callers.start(token, { over, repeats: true, toMs: playedMs, markMs: 1_200 }),
    )
    await Promise.all(running.map(({ marked }) => marked))
    await deployment.on('engine-1').end('SIGTERM')
    await deployment.startEngine('engine-1')
    await deployment.on('edge-1').end('SIGTERM')
    await deployment.startEdge('edge-1')
    for (const { finish } of running) finish()
    for (const { outcome } of running) expect((await outcome).end).toBe('complete')
    if (isReal) expect(await deployment.alerts()).toEqual([])
    await quiet()
  })

  it('names an engine process that was killed', async () => {
    const kill = () => deployment.on('engine-2').end('SIGKILL')
    const line = { on: ['edge-1'], sentence: /^Engine process left$/, fields: { engine: 'engine-2', how: 'silent' } }
    await expectAlert('engine-2 killed', kill, { alertname: 'ProcessDown', instance: 'engine-2:9464' }, line)
    await deployment.startEngine('engine-2')
    await quiet()
  })

  it('names a machine whose cable is cut', async () => {
    const cut = () => deployment.network.set('engine-3', 'cut')
    const line = { on: ['edge-2'], sentence: /^Engine process left$/, fields: { engine: 'engine-3', how: 'silent' } }
    await expectAlert('engine-3 cut off', cut, { alertname: 'ProcessDown', instance: 'engine-3:9464' }, line)
    await deployment.network.set('engine-3', 'whole')
    await quiet()
  })

  it('says that there are no engine processes, and which models they had', async () => {
    const kill = () => Promise.all(engineNames.map((name) => deployment.on(name).end('SIGKILL')))
    const line = { on: ['edge-1'], sentence: /^No engine process serves these models$/ }
    await expectAlert('all engines killed', kill, { alertname: 'NoEngines', instance: 'edge-1:9464' }, line)
    for (const name of engineNames) await deployment.startEngine(name)
    await quiet()
  })

  it('says that revocations may be missed while the bucket has no majority, and that NATS is away', async () => {
    const kill = (...names: readonly (typeof natsNames)[number][]) =>
      Promise.all(names.map((name) => deployment.on(name).end('SIGKILL')))
    // Not an edge that stays with the server that leads the bucket: without a majority it has every change there is.
    const stale = { on: edgeNames, sentence: /^Shared identity is stale$/ }
    await expectAlert(
      'two servers of NATS killed',
      () => kill('nats-0', 'nats-1'),
      { alertname: 'IdentityStale' },
      stale,
    )
    const lost = { on: ['edge-2'], sentence: /^The connection to NATS is lost/ }
    await expectAlert(
      'all servers of NATS killed',
      () => kill('nats-2'),
      { alertname: 'NatsDown', instance: 'edge-2:9464' },
      lost,
    )
    await deployment.startNats()
    await quiet()
    expect(edgeNames.map((name) => linesOf(name).filter(({ level }) => level === 'error'))).toEqual([[], []])
  })
})
