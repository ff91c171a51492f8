import { constants, lstatSync, openSync } from 'node:fs'
import { open, stat, type FileHandle } from 'node:fs/promises'
import { Socket } from 'node:net'
import { join } from 'node:path'
import type { Host } from '../process/host.js'
import { codeOf, SpeechError } from 'rxspeech/internal/errors/speech-error'
import { shellWord } from '../view/typed-command.js'
import { download, type OpenOptions } from './download.js'
import { isPattern } from './file-names.js'
import { inputName, isAddress } from './input-name.js'

/** The bytes of a file or of standard input, read in chunks. */
export interface ByteSource {
  readonly bytes: AsyncIterator<Uint8Array, undefined>
  /** Their number, if it is known. */
  readonly byteCount?: number | undefined
  /** The open file, which can be read again from its beginning; undefined for a stream. */
  readonly descriptor?: number | undefined
  /** Closes the file or standard input. Idempotent. */
  readonly close: () => Promise<void>
}

/**
 * Opens the file, downloads it if it is an address, or opens standard input for `-`. Rejects with `source-failed` that
 * says what to do.
 */
export const openBytes = async (file: string, host: Pick<Host, 'stdin'>, options: OpenOptions): Promise<ByteSource> => {
  if (file === '-') return stdinBytes(host)
  if (isAddress(file)) return handleBytes(file, await download(new URL(file), inputName(file), options))
  const found = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  return found.isFIFO() ? fifoBytes(file) : fileBytes(file)
}

const stdinBytes = (host: Pick<Host, 'stdin'>): ByteSource => {
  const stdin = openStdin(host)
  if (stdin.isTTY) throw unusable('-', 'is a terminal; pipe audio into it or pass a file.')
  return streamBytes('-', stdin)
}

/**
 * A named pipe, opened without waiting for its writer: the thread that waits in `open` could not be ended, and would
 * keep the process.
 */
const fifoBytes = (file: string): ByteSource => {
  try {
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    return streamBytes(file, new Socket({ fd: descriptor, readable: true, writable: false }))
  } catch (error) {
    throw unreadable(file, error)
  }
}

const streamBytes = (file: string, stream: NodeJS.ReadStream | Socket): ByteSource => {
  // Never removed: an error after the last read must not end the process.
  stream.on('error', () => undefined)
  return {
    bytes: readStream(file, stream),
    close: () => {
      stream.destroy()
      return Promise.resolve()
    },
  }
}

/** Node opens standard input on the first access, and throws if it cannot. */
const openStdin = (host: Pick<Host, 'stdin'>): NodeJS.ReadStream => {
  try {
    return host.stdin
  } catch (error) {
    throw unreadable('-', error)
  }
}

async function* readStream(file: string, stream: NodeJS.ReadStream | Socket): AsyncGenerator<Uint8Array, undefined> {
  try {
    for await (const chunk of stream) yield chunk as Uint8Array
  } catch (error) {
    throw unreadable(file, error)
  }
  return undefined
}

const pieceBytes = 65_536

const fileBytes = async (file: string): Promise<ByteSource> => handleBytes(file, await openFile(file))

const handleBytes = async (file: string, handle: FileHandle): Promise<ByteSource> => {
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= handle.close())
  try {
    const found = await handle.stat()
    if (found.isDirectory()) throw unusable(file, folderRemedy(file))
    if (!found.isFile()) return { bytes: readFile(file, handle), close }
    return {
      bytes: readFile(file, handle, 0),
      close,
      byteCount: found.size > 0 ? found.size : undefined,
      descriptor: handle.fd,
    }
  } catch (error) {
    await close()
    throw error
  }
}

const folderRemedy = (folder: string): string =>
  `is a folder; pass its files, such as ${shellWord(join(folder, '*.wav'))}.`

const openFile = async (file: string): Promise<FileHandle> => {
  try {
    return await open(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

/** @param from where it begins, for a file that others read, too; else where the system is */
async function* readFile(file: string, handle: FileHandle, from?: number): AsyncGenerator<Uint8Array, undefined> {
  let position = from ?? null
  for (;;) {
    const { bytesRead, buffer } = await handle
      .read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, position)
      .catch((error: unknown) => {
        throw unreadable(file, error)
      })
    if (bytesRead === 0) return undefined
    if (position !== null) position += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

const remedies: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist; check the name',
  ENOTDIR: 'does not exist; check the name',
  ENAMETOOLONG: 'has a name that is too long; check it',
  EACCES: 'cannot be read; change its permissions',
  EPERM: 'cannot be read; change its permissions',
  EISDIR: 'is a folder; pass a file',
  ELOOP: 'is a broken link; pass a file',
  EBADF: 'is closed; pipe audio into it or pass a file',
}

/** For a name of nothing that exists, if there is more to say than that. */
const missingRemedy = (file: string): string | undefined => {
  if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true) return remedies['ELOOP']
  if (file.includes('\ufffd')) return 'has a name that is not in UTF-8; rename it'
  return isPattern(file) ? 'matches no file; check the pattern' : undefined
}

/** The error of a failed read, with what to do about it. */
export const unreadable = (file: string, error: unknown): SpeechError => {
  const code = codeOf(error) ?? 'unknown'
  const missing = code === 'ENOENT' ? missingRemedy(file) : undefined
  const remedy = missing ?? remedies[code] ?? `cannot be read (${code}); try another copy`
  return new SpeechError('source-failed', `${inputName(file)} ${remedy}.`, { cause: error })
}

export const unusable = (file: string, remedy: string): SpeechError =>
  new SpeechError('source-failed', `${inputName(file)} ${remedy}`)
