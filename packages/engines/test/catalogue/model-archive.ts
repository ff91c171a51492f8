import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'

export interface ArchiveEntry {
  readonly name: string
  readonly data?: Uint8Array | string
  readonly type?: 'file' | 'directory' | 'symlink'
  readonly linkname?: string
}

/** A tar archive (POSIX.1 ustar) compressed by bzip2, as the release has them. */
export const modelArchive = async (entries: readonly ArchiveEntry[]): Promise<Buffer> => {
  const { packTar } = await import('modern-tar')
  const tar = await packTar(
    entries.map(({ name, data = '', type = 'file', linkname }) => {
      const body = typeof data === 'string' ? new TextEncoder().encode(data) : data
      const header = {
        name,
        type,
        size: type === 'file' ? body.length : 0,
        ...(linkname !== undefined && { linkname }),
      }
      return type === 'file' ? { header, body } : { header }
    }),
  )
  return execFileSync('bzip2', ['-c'], { input: tar, maxBuffer: 1e9 })
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** Bytes that do not compress, the same for each seed. */
export const noise = (length: number, seed = 1): Buffer => {
  const bytes = Buffer.alloc(length)
  let state = seed
  for (let at = 0; at < length; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    bytes[at] = state >>> 24
  }
  return bytes
}
