// `rxspeech reload` reaches the processes of a state folder over a local socket that only their user can open.
// Each process puts one into the folder `control` of the state folder, and a file that names it.
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, readdir, readFile, rm, rmdir, stat } from 'node:fs/promises'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { either } from 'fp-ts'
import { makePrivateFolder, writePrivateFile } from 'rxspeech-server/identity/state/state-files'
import { checkStateFolder } from 'rxspeech-server/identity/state/trusted-files'
import type { Logger } from 'rxspeech-server/operations/logger'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { listOf } from 'rxspeech/internal/protocol/collections'
import { parseJsonObject } from 'rxspeech/internal/protocol/parse-json'
import { flag, optionsOf, text, wholeNumber } from 'rxspeech/internal/protocol/validation'
import type { ReloadResult } from '../../start/reload.js'
import { CommandError } from '../process/failure.js'

/** What a process answers to a reload. */
export interface ReloadAnswer {
  readonly pid: number
  readonly isReloaded: boolean
  readonly faults: readonly string[]
  /** Labels of models. */
  readonly added?: readonly string[] | undefined
  readonly changed?: readonly string[] | undefined
  readonly removed?: readonly string[] | undefined
  /** What the operator should know besides. */
  readonly notice?: string | undefined
}

const reloadAnswer = optionsOf<ReloadAnswer>()(
  { pid: wholeNumber({ min: 0 }), isReloaded: flag, faults: listOf(text) },
  { added: listOf(text), changed: listOf(text), removed: listOf(text), notice: text },
)

const request = 'reload\n'
/** A client that connects and asks nothing is disconnected. */
const askWithinMs = 5_000
/** A local socket is connected at once, unless its process hangs. */
const connectWithinMs = 2_000
/** Models can take minutes to load. */
const answerWithinMs = 600_000
/** The longest path of a local socket on all systems, in bytes. */
const maxSocketPath = 100

/** A file that is not complete after this time is one of a process that was killed. */
const incompleteMs = 60_000
/** The beginning of the folders for sockets whose path would be too long. */
const ownFolder = join(tmpdir(), 'rxspeech-')
const socketName = 'control.sock'

const folderOf = (stateFolder: string): string => join(stateFolder, 'control')

export interface Control {
  readonly close: () => Promise<void>
}

/** The answer of this process. */
export const answerOf = (result: ReloadResult, notice?: string): ReloadAnswer => ({
  pid: process.pid,
  isReloaded: result.isReloaded,
  faults: result.isReloaded ? [] : result.problems.map(({ message }) => message),
  ...(result.isReloaded && result.models),
  ...(notice !== undefined && { notice }),
})

/** Takes reloads until it is closed. Rejects with the error of the file system. */
const openControl = async (stateFolder: string, reload: () => Promise<ReloadAnswer>): Promise<Control> => {
  const folder = folderOf(stateFolder)
  await makePrivateFolder(stateFolder)
  await makePrivateFolder(folder)
  // It may have been created before with other rights.
  await chmod(folder, 0o700)
  await removeStale(folder)
  const id = randomUUID()
  const { address, remove } = await createAddress(folder, id)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    answer(socket, reload)
  })
  // Not what keeps the process alive.
  server.unref()
  await listen(server, address)
  const file = join(folder, `${id}.json`)
  await writePrivateFile(file, JSON.stringify({ address }))
  return {
    close: async () => {
      await rm(file, { force: true })
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
      await remove()
    },
  }
}

/** As `openControl`; if that fails, the service runs without it. */
export const openControlOrWarn = async (
  stateFolder: string,
  reload: () => Promise<ReloadAnswer>,
  logger: Logger,
): Promise<Control | undefined> => {
  try {
    return await openControl(stateFolder, reload)
  } catch (error) {
    const sentence = 'rxspeech reload cannot reach this process, because the state folder cannot have a socket.'
    logger.log('warn', sentence, { reason: codeOf(error) ?? 'unknown' })
    return undefined
  }
}

/** In the folder itself, unless its path is too long, or on Windows, where local sockets have other names. */
const createAddress = async (
  folder: string,
  id: string,
): Promise<{ readonly address: string; readonly remove: () => Promise<void> }> => {
  if (process.platform === 'win32') return { address: `\\\\.\\pipe\\rxspeech-${id}`, remove: () => Promise.resolve() }
  const address = join(folder, `${id.slice(0, 8)}.sock`)
  if (Buffer.byteLength(address) <= maxSocketPath) return { address, remove: () => rm(address, { force: true }) }
  const own = await mkdtemp(ownFolder)
  return { address: join(own, socketName), remove: () => rm(own, { recursive: true, force: true }) }
}

const listen = (server: Server, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(address, () => {
      server.off('error', reject)
      resolve()
    })
  })

const answer = (socket: Socket, reload: () => Promise<ReloadAnswer>): void => {
  let received = ''
  // The other end may go away at any time.
  socket.on('error', () => socket.destroy())
  socket.setTimeout(askWithinMs, () => socket.destroy())
  socket.setEncoding('utf8')
  socket.on('data', (more: string) => {
    received += more
    if (!request.startsWith(received)) socket.destroy()
    if (received !== request) return
    socket.setTimeout(0)
    void reload().then((result) => socket.end(`${JSON.stringify(result)}\n`))
  })
}

/**
 * Asks all processes of a state folder to reload, one after another. A file of a process that is gone is removed.
 * Rejects with a `CommandError` if there is none that runs, and if one does not answer.
 */
export const askReload = async (stateFolder: string, signal: AbortSignal): Promise<readonly ReloadAnswer[]> => {
  const folder = folderOf(stateFolder)
  const files = await namesIn(folder)
  if (files.length > 0) {
    await checkStateFolder(stateFolder)
    await checkStateFolder(folder)
  }
  const answers: ReloadAnswer[] = []
  for (const file of files) {
    const path = join(folder, file)
    const address = await addressIn(path)
    const socket = await openSocket(address)
    if (socket === undefined) await removeFiles(path, address)
    else answers.push(await ask(socket, signal))
  }
  if (answers.length > 0) return answers
  throw new CommandError(
    `No service runs with the state folder ${stateFolder}; set that of the service with --state, or send SIGHUP to its process.`,
  )
}

const namesIn = async (folder: string): Promise<readonly string[]> => {
  const names = await readdir(folder).catch((): readonly string[] => [])
  return names.filter((name) => name.endsWith('.json')).toSorted()
}

/**
 * Removes what processes have left that were killed: their files, their sockets, and files that were not complete. What
 * cannot be examined or removed is left.
 */
const removeStale = async (folder: string): Promise<void> => {
  for (const name of await readdir(folder)) await removeIfStale(join(folder, name)).catch(() => undefined)
}

const removeIfStale = async (path: string): Promise<void> => {
  if (path.endsWith('.json') || path.endsWith('.sock')) {
    const address = path.endsWith('.json') ? await addressIn(path) : path
    const socket = await openSocket(address)
    if (socket === undefined) await removeFiles(path, address)
    else socket.destroy()
  } else if (path.endsWith('.new') && (await ageMs(path)) > incompleteMs) await rm(path, { force: true })
}

const ageMs = async (path: string): Promise<number> => {
  const found = await stat(path).catch(() => undefined)
  return found === undefined ? 0 : Date.now() - found.mtimeMs
}

/** The file of a process, and its socket where this program put it. */
const removeFiles = async (file: string, address: string): Promise<void> => {
  await rm(file, { force: true })
  const folder = dirname(address)
  if (folder === dirname(file)) await rm(address, { force: true })
  else if (folder.startsWith(ownFolder) && address === join(folder, socketName)) {
    await rm(address, { force: true })
    await rmdir(folder).catch(() => undefined)
  }
}

const addressIn = async (file: string): Promise<string> => {
  const content = parseJsonObject(await readFile(file, 'utf8').catch(() => ''))
  const address = either.isRight(content) ? content.right['address'] : undefined
  return typeof address === 'string' ? address : ''
}

/** Undefined if nothing listens there. Rejects if this user may not use it, or it does not answer in time. */
const openSocket = (address: string): Promise<Socket | undefined> =>
  new Promise((resolve, reject) => {
    if (address === '') {
      resolve(undefined)
      return
    }
    const socket = connect(address)
    socket.setTimeout(connectWithinMs, () => socket.destroy(Object.assign(new Error(), { code: 'ETIMEDOUT' })))
    socket.once('connect', () => {
      socket.setTimeout(0)
      socket.removeAllListeners('timeout')
      resolve(socket)
    })
    socket.once('error', (error) => {
      const code = codeOf(error)
      if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(undefined)
      else reject(new CommandError(`The service cannot be reached (${code ?? 'unknown'}); use the user that runs it.`))
    })
  })

const ask = async (socket: Socket, signal: AbortSignal): Promise<ReloadAnswer> => {
  const abort = (): void => {
    socket.destroy()
  }
  signal.addEventListener('abort', abort)
  try {
    socket.setTimeout(answerWithinMs, abort)
    socket.setEncoding('utf8')
    socket.write(request)
    let received = ''
    try {
      for await (const more of socket) received += String(more)
    } catch {
      // What has arrived says whether it was answered.
    }
    signal.throwIfAborted()
    const decoded = either.Chain.chain(parseJsonObject(received), (json): either.Either<unknown, ReloadAnswer> =>
      reloadAnswer.decode(json),
    )
    if (either.isRight(decoded)) return decoded.right
    throw new CommandError('A service ended before it had answered; its log says whether it was reloaded.')
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
