import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmod, copyFile, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { callModels, main } from '../cli/command.js'
import { hasPrograms, needPackages } from '../interop/debian-packages.js'
import { Callers, type Answer } from './callers.js'
import { checkoutFolder, machinesPackage, Network, type Machine } from './network.js'
import { commandsOf, filesOf, installCommand, prepareSecrets, type Step } from './page-commands.js'

const packages = needPackages(['nats-server', 'haproxy', 'iproute2', 'openssl', 'prometheus', 'systemd'], () =>
  hasPrograms('nats-server', 'haproxy', 'ip', 'bridge', 'openssl', 'prometheus', 'systemd-sysusers'),
)
export const deploymentIsSkipped = packages.areAbsent || machinesPackage.areAbsent
export const deploymentTitle = (text: string): string => machinesPackage.title(packages.title(text))

export const natsNames = ['nats-0', 'nats-1', 'nats-2'] as const
export const engineNames = ['engine-1', 'engine-2', 'engine-3'] as const
export const edgeNames = ['edge-1', 'edge-2'] as const
export type EdgeName = (typeof edgeNames)[number]
export type EngineName = (typeof engineNames)[number]

/** As much of the sample call as is played: a sentence on each channel, and the pauses after them. */
export const playedMs = 6_400

/** A WAV file with the beginning of another one, which has 16 bytes a millisecond. */
const beginningOf = async (path: string, durationMs: number): Promise<Buffer> => {
  const file = await readFile(path)
  const data = file.indexOf('data')
  const short = Buffer.from(file.subarray(0, data + 8 + durationMs * 16))
  short.writeUInt32LE(short.length - 8, 4)
  short.writeUInt32LE(durationMs * 16, data + 4)
  return short
}

type Labels = Readonly<Record<string, string>>

export interface Subscriber {
  readonly clientId: string
  readonly clientSecret: string
}

const credentialsOf = ({ clientId, clientSecret }: Subscriber) => ({ client_id: clientId, client_secret: clientSecret })

/** A program that runs until it is ended. */
export class Running {
  #log = ''
  readonly #ended: Promise<number | null>
  readonly #child: ChildProcess

  constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (bytes: Buffer) => (this.#log += bytes.toString()))
    }
    this.#ended = once(child, 'close').then(([code]) => code as number | null)
  }

  get log(): string {
    return this.#log
  }

  /** The lines of a log of JSON. */
  get lines(): readonly Readonly<Record<string, unknown>>[] {
    const complete = this.#log.split('\n').filter((line) => line.startsWith('{"level"') && line.endsWith('}'))
    return complete.map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
  }

  /** Resolves when the log matches; rejects if the program ends before. */
  async logged(pattern: Pick<RegExp, 'test'>): Promise<void> {
    const ended = this.#ended.then(() => Promise.reject(new Error(`It ended:\n${this.#log.slice(-4_000)}`)))
    ended.catch(() => undefined)
    while (!pattern.test(this.#log)) await Promise.race([delay(20), ended])
  }

  /** Reads its files again; resolves when it has a line of that. */
  async reload(): Promise<void> {
    const before = this.#log.length
    this.#child.kill('SIGHUP')
    const since = (): string => this.#log.slice(before)
    await this.logged({ test: () => /were reloaded|reload was refused/.test(since()) })
    if (!since().includes('were reloaded')) throw new Error(since())
  }

  /** Ends it and resolves with its exit code, null after SIGKILL. */
  async end(signal: NodeJS.Signals): Promise<number | null> {
    this.#child.kill(signal)
    return this.#ended
  }
}

/** The deployment of docs/SCALING.md, by the commands of the page, on machines that are network namespaces. */
export class Deployment {
  readonly #folder: string
  readonly #running = new Map<string, Running>()
  #subscriber: Subscriber = { clientId: '', clientSecret: '' }
  readonly network: Network
  ca = ''

  private constructor(folder: string, network: Network) {
    this.#folder = folder
    this.network = network
  }

  static async create(): Promise<Deployment> {
    const names = [...natsNames, ...engineNames, ...edgeNames, 'balancer', 'client', 'monitor']
    const folder = await mkdtemp(join(tmpdir(), 'deployment-'))
    // Edges and engine processes run as users of their own.
    await chmod(folder, 0o711)
    const deployment = new Deployment(folder, await Network.create(names, natsNames))
    try {
      await deployment.#open()
    } catch (error) {
      await deployment.close()
      throw error
    }
    return deployment
  }

  get client(): Machine {
    return this.network.machine('client')
  }

  get caFile(): string {
    return join(this.#folder, 'client/ca.crt')
  }

  /** What runs on a machine now. */
  on(name: string): Running {
    const found = this.#running.get(name)
    if (found === undefined) throw new Error(`Nothing runs on ${name}.`)
    return found
  }

  openCallers(): Callers {
    return new Callers(this)
  }

  /** @param subscriber that of the tenant `Default` if it is absent */
  async newToken(callers: Callers, subscriber = this.#subscriber): Promise<string> {
    const url = 'https://speech.example.com/connect/token'
    const form = { grant_type: 'client_credentials', ...credentialsOf(subscriber) }
    const { status, body } = await callers.post(url, form)
    if (typeof body['access_token'] !== 'string') throw new Error(`No token: ${status}.`)
    return body['access_token']
  }

  /** Revokes a token at an edge. */
  revoke(callers: Callers, edge: EdgeName, token: string): Promise<Answer> {
    return callers.post(`https://${edge}:8443/connect/revocation`, { token, ...credentialsOf(this.#subscriber) })
  }

  /** What the last step of the page prints. */
  async transcribe(): Promise<string> {
    const { clientId, clientSecret } = this.#subscriber
    return this.#carryOut('A client', 'client', {
      RXSPEECH_CLIENT_ID: clientId,
      RXSPEECH_CLIENT_SECRET: clientSecret,
    })
  }

  /** What `rxspeech engines` prints for the operator. */
  async engines(): Promise<string> {
    const env = await readFile(join(this.#folder, 'nats-0/nats.env'), 'utf8')
    const password = /^NATS_OPERATOR=(.*)$/m.exec(env)?.[1] ?? ''
    const args = ['engines', '--nats', 'tls://nats-0:4222', '--nats-user', 'operator', '--nats-ca', 'ca.crt', '--json']
    const options = this.#options('edge-1', { RXSPEECH_NATS_PASSWORD: password })
    const { code, stdout, stderr } = await this.network.machine('edge-1').run(['rxspeech', ...args], options)
    if (code !== 0) throw new Error(stderr)
    return stdout
  }

  /** Replaces the models of an engine machine; its process reads them when it starts. */
  async installModels(name: EngineName, models: string): Promise<void> {
    const target = join(this.network.machine(name).root, 'srv/rxspeech/models')
    await rm(target, { recursive: true, force: true })
    await cp(models, target, { recursive: true })
  }

  /** A subscription of another tenant. */
  async subscribe(tenant: string): Promise<Subscriber> {
    return JSON.parse(await this.#carryOut('A subscription', 'edge-1', {}, ` --tenant ${tenant}`)) as Subscriber
  }

  /** Writes a file of a machine, with its folders. */
  async write(name: string, path: string, text: string): Promise<void> {
    const file = join(this.network.machine(name).root, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }

  /** Starts servers that do not run. @default all */
  async startNats(names: readonly (typeof natsNames)[number][] = natsNames): Promise<void> {
    await Promise.all(names.map(async (name) => (await this.#launch('NATS', name)).logged(/Server is ready/)))
  }

  async startEngine(name: EngineName): Promise<Running> {
    const engine = await this.#launch('Engine processes', name)
    await engine.logged(/The engine process is ready/)
    return engine
  }

  /** @param change of its configuration, a script of sed */
  async startEdge(name: EdgeName, change = ''): Promise<Running> {
    const edge = await this.#launch('Edges', name, (commands) =>
      commands.replace('as_edge=', `sed -i '${change}' /etc/rxspeech/edge.yaml\n$&`),
    )
    await edge.logged(/The service is listening/)
    return edge
  }

  /** Resolves when the balancer has connections for an edge again, or no more of them. */
  async balanced(name: EdgeName, state: 'UP' | 'DOWN'): Promise<void> {
    const server = name === 'edge-1' ? 'one' : 'two'
    for (const backend of ['recognizers', 'dataflows']) {
      const last = (): string | undefined =>
        [...this.on('balancer').log.matchAll(new RegExp(`Server ${backend}/${server} is (UP|DOWN)`, 'g'))].at(-1)?.[1]
      while ((last() ?? 'UP') !== state) await delay(50)
    }
  }

  /** With other times than those of the files, if `adapt` changes the commands of the page. */
  async startPrometheus(adapt?: (commands: string) => string): Promise<void> {
    await (await this.#launch('Prometheus', 'monitor', adapt)).logged(/Server is ready to receive web requests/)
  }

  /** The alerts that fire, each with the labels of its series. */
  async alerts(): Promise<readonly Labels[]> {
    return (await this.query('ALERTS{alertstate="firing"}')).map(({ metric }) => metric)
  }

  /** What Prometheus says of an expression: its series, and the value of each. */
  async query(expression: string): Promise<readonly { readonly metric: Labels; readonly value: number }[]> {
    const argv = ['promtool', 'query', 'instant', '-o', 'json', 'http://monitor:9090', expression]
    const { code, stdout, stderr } = await this.network.machine('monitor').run(argv, this.#options('monitor'))
    if (code !== 0) throw new Error(stderr)
    const series = JSON.parse(stdout) as readonly { readonly metric: Labels; readonly value: [number, string] }[]
    return series.map(({ metric, value: [, value] }) => ({ metric, value: Number(value) }))
  }

  async close(): Promise<void> {
    await this.network.close()
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #open(): Promise<void> {
    await installCommand(join(this.#folder, 'bin'), join(checkoutFolder, relative('.', main)))
    await this.#prepare()
    await Promise.all(engineNames.map((name) => this.installModels(name, callModels)))
    await this.startNats()
    await Promise.all(engineNames.map((name) => this.startEngine(name)))
    await Promise.all(edgeNames.map((name) => this.startEdge(name)))
    await (await this.#launch('The balancer', 'balancer')).logged(/Loading success/)
    this.#subscriber = JSON.parse(await this.#carryOut('A subscription', 'edge-1')) as Subscriber
  }

  /** The first step is carried out in a folder of its own, and its files are copied to the machines. */
  async #prepare(): Promise<void> {
    const own = join(this.#folder, 'deploy')
    // Not on one of the machines.
    const bin = join(this.#folder, 'own-bin')
    await installCommand(bin)
    await prepareSecrets(own, { PATH: `${bin}:${this.#options('deploy').env.PATH}` })
    const made = await readdir(own)
    for (const { name } of this.network.machines) {
      const folder = join(this.#folder, name)
      await mkdir(folder)
      const ofMachine = made.filter((file) => file.startsWith(`${name}.`) || file.startsWith(`${name}-`))
      for (const file of [...(await filesOf(name.replace(/-\d$/, ''))), ...ofMachine]) {
        await copyFile(join(own, file), join(folder, basename(file)))
      }
    }
    await writeFile(join(this.#folder, 'client/call.wav'), await beginningOf('samples/call.wav', playedMs))
    this.ca = await readFile(this.caFile, 'utf8')
  }

  /** Carries out a step of the page on a machine, to its end. */
  async #carryOut(step: Step, name: string, env: Readonly<Record<string, string>> = {}, flags = ''): Promise<string> {
    const argv = ['bash', '-euc', (await commandsOf(step)).trimEnd() + flags]
    const { code, stdout, stderr } = await this.network.machine(name).run(argv, this.#options(name, env))
    if (code !== 0) throw new Error(`${step}: ${stdout}${stderr}`)
    return stdout
  }

  /** Carries out a step that ends with a program that stays. */
  async #launch(
    step: Step,
    name: string,
    adapt: (commands: string) => string = (commands) => commands,
  ): Promise<Running> {
    const argv = ['bash', '-euc', adapt(await commandsOf(step))]
    const running = new Running(this.network.machine(name).start(argv, this.#options(name)))
    this.#running.set(name, running)
    return running
  }

  #options(name: string, env: Readonly<Record<string, string>> = {}) {
    const path = `${join(this.#folder, 'bin')}:/usr/sbin:/usr/bin:/sbin:/bin`
    return { folder: join(this.#folder, name), env: { PATH: path, ...env } }
  }
}
