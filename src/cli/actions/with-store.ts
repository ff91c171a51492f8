import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { openIdentityStore, type IdentityStore } from '../../service/identity/identity-store.js'
import { storeFileName } from '../../service/identity/state/state-files.js'
import { usageError } from '../process/failure.js'
import { stateFolderFlag, type StoreFlags } from '../options/plan-subscription.js'

/** Opens the store of the state folder, works with it, and closes it whatever comes of that. Only `create` makes one. */
export const withStore = async (
  flags: StoreFlags,
  work: (store: IdentityStore) => Promise<void> | void,
  { mayCreate = false }: { readonly mayCreate?: boolean } = {},
): Promise<void> => {
  const stateFolder = resolve(stateFolderFlag(flags))
  if (!mayCreate && !existsSync(join(stateFolder, storeFileName))) {
    throw usageError(`There are no subscriptions in ${stateFolder}; name the state folder of the service by --state.`)
  }
  const store = await openIdentityStore({ stateFolder })
  try {
    await work(store)
  } finally {
    store.close()
  }
}
