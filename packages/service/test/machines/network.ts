import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { programPath, skipped, type NeededPackages } from '../interop/debian-packages.js'
import { networkNamespaces } from '../interop/network-namespaces.js'

const run = promisify(execFile)
const ip = (...args: readonly string[]): Promise<unknown> => run(programPath('ip') ?? 'ip', args)

/** Besides namespaces machines need bridges, and folders of their own. */
const canConnect = (): boolean => {
  const name = `rxspeech-${process.pid}-probe`
  const succeeds = (...args: readonly string[]): boolean => spawnSync(programPath('ip') ?? 'ip', args).status === 0
  if (!succeeds('netns', 'add', name)) return false
  const canMount = succeeds('netns', 'exec', name, 'unshare', '--uts', 'mount', '--bind', '/srv', '/srv')
  const canBridge = succeeds('-n', name, 'link', 'add', 'main', 'type', 'bridge')
  return succeeds('netns', 'delete', name) && canMount && canBridge
}

export const machinesPackage = ((): NeededPackages =>
  networkNamespaces.areAbsent || canConnect()
    ? networkNamespaces
    : skipped('a kernel with bridges, and the right to mount'))()

/** Every machine has the first; servers that form a cluster also have the second, for themselves. */
export type Lan = 'main' | 'cluster'

/** What a machine has of its own besides its network: folders in place of those of the host. */
const ownFolders = ['/etc', '/run', '/srv', '/var/lib']
/** Where each machine has this checkout, so that users other than root can read it wherever it is. */
export const checkoutFolder = '/mnt'
const checkout = join(__dirname, '../../../..')
/** Files of `/etc` that programs need. */
const sharedFiles = ['passwd', 'group', 'nsswitch.conf', 'ld.so.cache']

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>> | undefined
  /** @default the root of the checkout */
  readonly folder?: string | undefined
  readonly ipc?: boolean
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A network namespace with a name, an address, files of its own, and a cable to a switch. */
export class Machine {
  readonly #namespace: string
  readonly #children = new Set<ChildProcess>()

  constructor(
    readonly name: string,
    readonly address: string,
    /** Its folders are under this one: `<root>/etc` is its `/etc`. */
    readonly root: string,
    namespace: string,
  ) {
    this.#namespace = namespace
  }

  /** Starts a program; the process id is that of the program. */
  start(argv: readonly string[], { env, folder, ipc = false }: RunOptions = {}): ChildProcess {
    const own = ownFolders.map((folder) => [this.root + folder, folder] as const)
    const mounts = [[checkout, checkoutFolder] as const, ...own].map(([from, to]) => `mount --bind '${from}' ${to}`)
    const script = [`hostname ${this.name}`, ...mounts, 'exec "$@"'].join(' && ')
    const args = ['netns', 'exec', this.#namespace, 'unshare', '--uts', 'sh', '-c', script, 'sh', ...argv]
    const { PATH = '' } = process.env
    const child = spawn(programPath('ip') ?? 'ip', args, {
      ...(folder !== undefined && { cwd: folder }),
      env: { PATH, ...env },
      stdio: ipc ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
    })
    this.#children.add(child)
    child.once('close', () => this.#children.delete(child))
    return child
  }

  async run(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
    const child = this.start(argv, options)
    let [stdout, stderr] = ['', '']
    child.stdout?.on('data', (bytes: Buffer) => (stdout += bytes.toString()))
    child.stderr?.on('data', (bytes: Buffer) => (stderr += bytes.toString()))
    const [code] = (await once(child, 'close')) as [number | null]
    return { code, stdout, stderr }
  }

  async killAll(): Promise<void> {
    const running = [...this.#children]
    await Promise.all(
      running.map(async (child) => {
        child.kill('SIGKILL')
        await once(child, 'close')
      }),
    )
  }
}

/** Machines with a cable each to one switch, and a second switch for servers that form a cluster. */
export class Network {
  readonly #prefix = `rxspeech-${process.pid}`
  readonly #machines = new Map<string, Machine>()
  #folder = ''

  /** The machines by name; `cluster` names those that also have a cable to the second switch. */
  static async create(names: readonly string[], cluster: readonly string[]): Promise<Network> {
    const network = new Network()
    try {
      await network.#create(names, cluster)
    } catch (error) {
      await network.close()
      throw error
    }
    return network
  }

  machine(name: string): Machine {
    const machine = this.#machines.get(name)
    if (machine === undefined) throw new Error(`There is no machine ${name}.`)
    return machine
  }

  get machines(): readonly Machine[] {
    return [...this.#machines.values()]
  }

  /** Pulls out a cable at the switch, or plugs it in: the machine itself sees no difference. */
  async set(name: string, state: 'cut' | 'whole', lan: Lan = 'main'): Promise<void> {
    const port = `${lan}${[...this.#machines.keys()].indexOf(name)}`
    const bridge = ['bridge', 'link', 'set', 'dev', port, 'state', state === 'cut' ? '0' : '3']
    await ip('netns', 'exec', `${this.#prefix}-switch`, ...bridge)
  }

  async close(): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.killAll()))
    for (const name of [...this.#machines.keys(), 'switch']) {
      await ip('netns', 'delete', `${this.#prefix}-${name}`).catch(() => undefined)
    }
    if (this.#folder !== '') await rm(this.#folder, { recursive: true, force: true })
  }

  async #create(names: readonly string[], cluster: readonly string[]): Promise<void> {
    this.#folder = await mkdtemp(join(tmpdir(), 'machines-'))
    const hub = `${this.#prefix}-switch`
    await ip('netns', 'add', hub)
    for (const lan of ['main', 'cluster']) {
      await ip('-n', hub, 'link', 'add', lan, 'type', 'bridge')
      await ip('-n', hub, 'link', 'set', lan, 'up')
    }
    for (const [index, name] of names.entries()) {
      const namespace = `${this.#prefix}-${name}`
      const root = join(this.#folder, name)
      this.#machines.set(name, new Machine(name, addressOf('main', index), root, namespace))
      await ip('netns', 'add', namespace)
      await ip('-n', namespace, 'link', 'set', 'lo', 'up')
      const lans: readonly Lan[] = cluster.includes(name) ? ['main', 'cluster'] : ['main']
      for (const lan of lans) {
        const port = `${lan}${index}`
        await ip('link', 'add', lan, 'netns', namespace, 'type', 'veth', 'peer', 'name', port, 'netns', hub)
        await ip('-n', hub, 'link', 'set', port, 'master', lan, 'up')
        await ip('-n', namespace, 'address', 'add', `${addressOf(lan, index)}/24`, 'dev', lan)
        await ip('-n', namespace, 'link', 'set', lan, 'up')
      }
      for (const own of ownFolders) await mkdir(join(root, own), { recursive: true })
      for (const file of sharedFiles) await copyFile(join('/etc', file), join(root, 'etc', file))
      await writeFile(join(root, 'etc/hosts'), hostsOf(names, cluster, cluster.includes(name)))
    }
  }
}

const addressOf = (lan: Lan, index: number): string => `10.213.${lan === 'main' ? 8 : 9}.${index + 1}`

/** Servers of the cluster reach each other over the second switch, and all others over the first. */
const hostsOf = (names: readonly string[], cluster: readonly string[], isOfCluster: boolean): string =>
  [
    '127.0.0.1 localhost',
    ...names.map(
      (name, index) => `${addressOf(isOfCluster && cluster.includes(name) ? 'cluster' : 'main', index)} ${name}`,
    ),
  ]
    .map((line) => (line.endsWith(' balancer') ? `${line} speech.example.com` : line))
    .join('\n')
