import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openSigningKeys, signingKeysFile } from '../../service/identity/keys/signing-keys.js'
import { stateFolderFlag, type StoreFlags } from '../options/plan-subscription.js'
import { usageError } from '../process/failure.js'
import type { Output } from '../process/output.js'

export interface RotateKeysFlags extends Pick<StoreFlags, 'state'> {
  readonly alone?: boolean
}

/** `rxspeech keys rotate`: running services of this state folder see the new key at their next token. */
export const rotateKeys = async ({ alone = false, ...flags }: RotateKeysFlags, output: Output): Promise<void> => {
  const stateFolder = resolve(stateFolderFlag(flags))
  if (!existsSync(join(stateFolder, signingKeysFile))) {
    throw usageError(`There are no signing keys in ${stateFolder}; name the state folder of the service by --state.`)
  }
  const keys = await openSigningKeys({ stateFolder, now: Date.now, rotateAfterMs: Infinity })
  const kid = await keys.rotate({ discardOthers: alone })
  output.write(
    alone
      ? `The key ${kid} is the only one; tokens of before are not good any more.\n`
      : `The key ${kid} signs in 10 minutes; tokens of before stay good.\n`,
  )
}
