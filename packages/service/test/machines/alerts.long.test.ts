import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noLoadLimits } from '../plain-service.js'
import { wordsOf, type Callers, type Outcome } from './callers.js'
import {
  Deployment,
  deploymentIsSkipped,
  deploymentTitle,
  edgeNames,
  engineNames,
  playedMs,
  Running,
  type natsNames,
} from './deployment.js'

const log = (text: string): void => void process.stderr.write(`${text}\n`)

const over = ['grpc', 'websocket'] as const

/** `POST /v1/audio/transcriptions`: nothing was said in a second, and it cannot read more. */
const brokenServer = `require('node:http').createServer((request, response) => {
  response.statusCode = request.headers['content-length'] > 40000 ? 500 : 200
  request.resume().once('end', () => response.end('{"text":""}'))
}).listen(8000, () => console.log('listening'))`

/** With RXSPEECH_ALERT_TIMES=real the times of the files count, and this takes half an hour. */
const isReal = process.env['RXSPEECH_ALERT_TIMES'] === 'real'
/** What stays in the rates of these alerts takes up to ten minutes. @default the time of all tests */
const realMs = isReal ? 1_800_000 : undefined
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
    const running = over.map((each) =>
      callers.start(token, { over: each, repeats: true, toMs: playedMs, markMs: 1_200 }),
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

  /** Limits of load would refuse sessions on a machine that is busy with other things. */
  const limitsOfTest = Object.entries({ idleMs: 0, ...noLoadLimits }).map(([name, value]) => `\\n  ${name}: ${value}`)
  const sessionsOfEdge = 10
  /** @param change a script of sed, after one that gives an edge few sessions */
  const restartEdges = async (change = ''): Promise<void> => {
    for (const edge of edgeNames) {
      await deployment.on(edge).end('SIGTERM')
      await deployment.balanced(edge, 'DOWN')
      await deployment.startEdge(
        edge,
        `s/ sessions: .*/ sessions: ${sessionsOfEdge}${limitsOfTest.join('')}/; ${change}`,
      )
      await deployment.balanced(edge, 'UP')
    }
  }
  const bothCalls = (own: string, tenant?: string) =>
    Promise.all(over.map((each) => callers.start(own, { over: each, tenant, toMs: playedMs, markMs: 1_200 }).outcome))

  it(
    'gives a tenant its calls while another one takes all that it gets, and counts whose sessions are refused',
    async () => {
      await restartEdges('s/^tenants:.*/tenants: [Default, Acme]/')
      const acme = await deployment.newToken(callers, await deployment.subscribe('Acme'))
      const undisturbed = await bothCalls(acme, 'Acme')
      const runningOf = (tenant: string) => async (): Promise<number> =>
        (await deployment.query(`sum(rxspeech_running_sessions{tenant="${tenant}"})`))[0]?.value ?? 0
      const large = await deployment.newToken(callers)
      // Each with a session for each channel.
      const flood = Array.from({ length: 3 * sessionsOfEdge }, () => callers.start(large, { over: 'websocket' }))
      await expectAlert(
        'a tenant wants 60 sessions of 20',
        async () => expect.poll(runningOf('Default'), { timeout: 60_000 }).toBe(2 * (sessionsOfEdge - 1)),
        { alertname: 'SessionsRefused' },
        { on: edgeNames, sentence: /^A tenant is refused a session$/, fields: { tenant: 'Default' } },
      )
      const calls = await bothCalls(acme, 'Acme')
      for (const [index, outcome] of calls.entries()) {
        expect(outcome.end).toBe('complete')
        expect(wordsOf(outcome)).toEqual(wordsOf(undisturbed[index] ?? outcome))
      }
      const [most] = await deployment.query('topk(1, sum by (tenant, code) (rxspeech_tenant_refusals_total))')
      expect(most?.metric).toEqual({ tenant: 'Default', code: 'overloaded' })
      await deployment.revoke(callers, 'edge-1', large)
      for (const { outcome } of flood) expect((await outcome).end).toBe('unauthenticated')
      await quiet()
    },
    realMs,
  )

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

  // The last one: its faults are in the logs.
  it(
    'takes a canary away that cannot read, and says which one it was',
    async () => {
      // A recognition server that has loaded its model, and fails at more audio than the second that checks it.
      const server = new Running(deployment.network.machine('monitor').start([process.execPath, '-e', brokenServer]))
      await server.logged(/listening/)
      const canary = {
        engine: 'openai',
        url: 'http://monitor:8000',
        insecure: true,
        model: 'call',
        sampleRateHz: 8_000,
      }
      await deployment.write('engine-3', 'srv/rxspeech/models/Default/call/2/model.json', JSON.stringify(canary))
      await deployment.on('engine-3').reload()
      const release = (percent: number) =>
        Promise.all(
          edgeNames.map((edge) =>
            deployment.write(
              edge,
              'etc/rxspeech/releases.yaml',
              `Default/call: { version: "1", canary: { version: "2", percent: ${percent} } }`,
            ),
          ),
        )
      await release(0)
      await restartEdges('$ a models: { releasesFile: /etc/rxspeech/releases.yaml }')
      const undisturbed = await bothCalls(token)
      await release(100)
      for (const edge of edgeNames) await deployment.on(edge).reload()
      let calls: Promise<readonly Outcome[]> | undefined
      await expectAlert(
        'a canary that cannot read got all sessions',
        async () => (calls = bothCalls(token)),
        { alertname: 'SessionsFail' },
        {
          on: edgeNames,
          sentence: /^A canary fails, and gets no further sessions$/,
          fields: { model: 'Default/call/2' },
        },
      )
      for (const [index, outcome] of ((await calls) ?? []).entries()) {
        expect(outcome.end).toBe('complete')
        expect(wordsOf(outcome)).toEqual(wordsOf(undisturbed[index] ?? outcome))
      }
      await server.end('SIGKILL')
    },
    realMs,
  )
})
