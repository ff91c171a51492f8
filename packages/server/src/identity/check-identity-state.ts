import { access, constants, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { codeOf } from 'rxspeech/internal/errors/speech-error'
import { readSigningKeys, signingKeysFile } from './keys/signing-keys.js'
import { needsStore, type IdentityStateOptions } from './identity-state.js'
import { checkDatabase } from './state/database.js'
import { checkIssuer, issuerFileName } from './state/issuer-lock.js'
import { loadSqlite } from './state/sqlite.js'
import { ownerOnly, stateFileError, storeFileName } from './state/state-files.js'
import { checkStateFolder } from './state/trusted-files.js'
import { readRevokedTokens, revokedTokensFile } from './tokens/revocations.js'

interface CheckedState extends Pick<IdentityStateOptions, 'clients'> {
  readonly stateFolder: string
}

/**
 * Reads everything in a state folder as a service that starts with it, without creating or changing anything. Resolves
 * with a sentence for each file that others can read. Rejects with `missing-dependency` where the service needs SQLite
 * and cannot load it, and otherwise as the service.
 */
export const checkIdentityState = async ({ stateFolder, clients }: CheckedState): Promise<readonly string[]> => {
  const hasSqlite = await loadSqlite().then(
    () => true,
    (error: unknown) => {
      if (needsStore(stateFolder, clients)) throw error
      return false
    },
  )
  try {
    await checkStateFolder(stateFolder).catch((error: unknown) => {
      // It is created at the start.
      if (codeOf(error) !== 'ENOENT') throw error
    })
    await checkFolder(stateFolder)
  } catch (error) {
    throw stateFileError(error, storeFileName)
  }
  if (hasSqlite) {
    await checkDatabase(stateFolder)
    await checkIssuer(stateFolder)
  }
  await readSigningKeys(join(stateFolder, signingKeysFile), { changesNothing: true })
  await readRevokedTokens(join(stateFolder, revokedTokensFile), { changesNothing: true })
  return readableByOthers(stateFolder)
}

const readableByOthers = async (stateFolder: string): Promise<readonly string[]> => {
  const sentences: string[] = []
  for (const name of [signingKeysFile, revokedTokensFile, issuerFileName, storeFileName]) {
    const path = join(stateFolder, name)
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && (found.mode & ~ownerOnly & 0o777) !== 0 && process.platform !== 'win32')
      sentences.push(`${path} can be read by other users; a service changes its mode when it starts.`)
  }
  return sentences
}

/** Whether files can be written to the folder, or it can be created. */
const checkFolder = async (folder: string): Promise<void> => {
  const isMissing = await stat(folder).then(
    () => false,
    (error: unknown) => {
      if (codeOf(error) !== 'ENOENT' || dirname(folder) === folder) throw error
      return true
    },
  )
  if (isMissing) return checkFolder(dirname(folder))
  // The slash makes it an error that it is a file.
  await access(join(folder, '/'), constants.W_OK | constants.X_OK)
}
