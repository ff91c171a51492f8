import { resolve } from 'node:path'
import type { ConnectedIdentity } from 'rxspeech-nats/identity/connect'
import type { AsyncClientRegistry } from 'rxspeech-server/identity/clients/manage-clients'
import { openIdentityStore } from 'rxspeech-server/identity/identity-store'
import { storeFileName } from 'rxspeech-server/identity/state/state-files'
import { flag } from '../parsing/flags.js'
import { stateFlag, stateFolderWith } from '../parsing/state-folder.js'
import { text } from '../parsing/values.js'
import { usageError } from '../process/failure.js'
import type { Host } from '../process/host.js'

/** Subscriptions and revoked tokens, of one machine or of several. */
export interface SubscriptionStore extends AsyncClientRegistry {
  readonly revoke: (tokenId: string) => Promise<void> | void
}

/** Which subscriptions a command changes. */
export const storeFlags = {
  config: flag('<file>', 'the configuration file of the service, in place of --state; for identity.nats', text),
  state: stateFlag,
}

export interface StoreCall {
  readonly flags: { readonly config: string | undefined; readonly state: string }
  readonly given: readonly string[]
  readonly host: Host
}

/** Where the subscriptions are. */
interface StorePlace {
  /** That of the flag or of the configuration file. */
  readonly stateFolder: string
  /** Connects to the servers of `identity.nats`; undefined if the state folder has the subscriptions. */
  readonly connect?: (() => Promise<ConnectedIdentity>) | undefined
}

/** Reads the flags and the configuration file that they name. Rejects with `invalid-options`. */
export const storePlace = async ({ flags: { config, state }, given, host }: StoreCall): Promise<StorePlace> => {
  if (config === undefined) return { stateFolder: resolve(state) }
  if (given.includes('state')) throw usageError('Set either --config or --state.')
  const { identityNats, readConfigured } = await import('../service/start-configured.js')
  const loaded = await readConfigured(config, host)
  const { identity, stateFolder: folder = '.rxspeech' } = loaded.values
  const stateFolder = loaded.path(folder)
  if (identity?.nats === undefined) return { stateFolder }
  const nats = identityNats(identity.nats, loaded, host.env)
  return {
    stateFolder,
    connect: async () => {
      const { connectSharedIdentity } = await import('rxspeech-nats/identity/connect')
      const onFault = (error: unknown): void => {
        host.stderr.write(`rxspeech: ${error instanceof Error ? error.message : 'unknown'}\n`)
      }
      return connectSharedIdentity(nats, {
        name: 'rxspeech command',
        connectWithinMs: 3_000,
        openWithinMs: 10_000,
        onFault,
      })
    },
  }
}

/**
 * Opens the subscriptions, and closes them when the work is done or has failed.
 *
 * @param mustExist whether a state folder without subscriptions is refused
 */
export const withStore = async (
  call: StoreCall,
  { mustExist }: { readonly mustExist: boolean },
  work: (store: SubscriptionStore, where: string) => Promise<void> | void,
): Promise<void> => {
  const { stateFolder, connect } = await storePlace(call)
  if (connect !== undefined) {
    const { identity, close } = await connect()
    try {
      await work(identity, 'the bucket of identity.nats')
    } finally {
      await close()
    }
    return
  }
  if (mustExist) stateFolderWith(storeFileName, 'subscriptions', stateFolder)
  const store = await openIdentityStore({ stateFolder })
  try {
    await work(store, stateFolder)
  } finally {
    store.close()
  }
}
