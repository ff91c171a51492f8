import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { hasPrograms, needPackages, programPath, skipped, type NeededPackages } from './debian-packages.js'

const run = promisify(execFile)
const ip = (...args: readonly string[]): Promise<unknown> => run(programPath('ip') ?? 'ip', args)

/** A name that no other process uses for a namespace. */
const nameOf = (role: string): string => `rxspeech-${process.pid}-${role}`

/** Namespaces need root with the capabilities NET_ADMIN and SYS_ADMIN, which containers rarely have. */
const canIsolate = (): boolean => {
  const name = nameOf('probe')
  if (spawnSync('ip', ['netns', 'add', name]).status !== 0) return false
  const isUsable = spawnSync('ip', ['netns', 'exec', name, 'ip', 'link', 'set', 'lo', 'up']).status === 0
  spawnSync('ip', ['netns', 'delete', name])
  return isUsable
}

export const networkNamespaces = ((): NeededPackages => {
  const iproute = needPackages(['iproute2'], () => hasPrograms('ip'))
  return iproute.areAbsent || canIsolate() ? iproute : skipped('root with CAP_NET_ADMIN and CAP_SYS_ADMIN')
})()

/** A service and a client, each in a separate network namespace, and the one link between them. */
export interface LinkedNamespaces {
  readonly serviceHost: string
  /** Runs a Node program in one of them. */
  readonly fork: (role: 'service' | 'client', program: string) => ChildProcess
  /** Disconnects the service's end, so that the client's packets are lost; or connects it again. */
  readonly set: (state: 'up' | 'down') => Promise<unknown>
  readonly close: () => Promise<void>
}

const addresses = { service: '10.213.7.1', client: '10.213.7.2' } as const

export const linkedNamespaces = async (): Promise<LinkedNamespaces> => {
  const [service, client] = [nameOf('service'), nameOf('client')]
  const children: ChildProcess[] = []
  const close = async (): Promise<void> => {
    const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
    await Promise.all(running.map((child) => (child.kill('SIGKILL'), once(child, 'close'))))
    // The link is removed with its ends. One that was never created is not an error here.
    for (const name of [service, client]) await ip('netns', 'delete', name).catch(() => undefined)
  }
  try {
    await ip('netns', 'add', service)
    await ip('netns', 'add', client)
    await ip('link', 'add', 'cable', 'netns', service, 'type', 'veth', 'peer', 'name', 'cable', 'netns', client)
    for (const [name, address] of [
      [service, addresses.service],
      [client, addresses.client],
    ] as const) {
      await ip('-n', name, 'address', 'add', `${address}/30`, 'dev', 'cable')
      await ip('-n', name, 'link', 'set', 'lo', 'up')
      await ip('-n', name, 'link', 'set', 'cable', 'up')
    }
  } catch (error) {
    await close()
    throw error
  }
  return {
    serviceHost: addresses.service,
    fork: (role, program) => {
      const child = spawn(programPath('ip') ?? 'ip', ['netns', 'exec', nameOf(role), process.execPath, program], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      })
      children.push(child)
      return child
    },
    set: (state) => ip('-n', service, 'link', 'set', 'cable', state),
    close,
  }
}

/** The next message of a child; rejects if it exits without one. */
export const messageOf = <Message>(child: ChildProcess): Promise<Message> =>
  new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`The child ended with ${String(code)}.`))
    child.once('close', gone)
    child.once('message', (message) => {
      child.off('close', gone)
      resolve(message as Message)
    })
  })
