import {
  cancelClient,
  registerClient,
  rotateSecret,
  type IssuedSecret,
} from '../../service/identity/clients/manage-clients.js'
import type { IdentityStore } from '../../service/identity/identity-store.js'
import { withStore } from './with-store.js'
import {
  planOverlap,
  planSubscription,
  type CreateFlags,
  type RotateFlags,
  type StoreFlags,
} from '../options/plan-subscription.js'
import type { Host } from '../process/host.js'
import type { Output } from '../process/output.js'
import { subscriptionJson, subscriptionTable } from '../view/subscription-table.js'

/** The secret goes to stdout alone; what is said beside it goes to stderr, so that a script reads nothing else. */
const tell = ({ client, clientSecret }: IssuedSecret, { json }: StoreFlags, output: Output): void => {
  const { clientId } = client
  output.write(
    json === true
      ? `${JSON.stringify({ clientId, clientSecret })}\n`
      : `client id:     ${clientId}\nclient secret: ${clientSecret}\n`,
  )
}

/** `rxspeech subscription create`: makes a subscription, and shows its secret this once. */
export const create = async (flags: CreateFlags, host: Host, output: Output): Promise<void> => {
  const nowMs = Date.now()
  const wish = planSubscription(flags, nowMs)
  const make = async (store: IdentityStore): Promise<void> => {
    tell(await registerClient(store, wish, nowMs), flags, output)
  }
  await withStore(flags, make, { mayCreate: true })
  if (flags.json !== true) host.stderr.write('Keep the secret now: it is not kept here, and is not shown again.\n')
}

/** `rxspeech subscription list`. */
export const list = async (flags: StoreFlags, _host: Host, output: Output): Promise<void> => {
  await withStore(flags, (store) => {
    const nowMs = Date.now()
    const all = store.list()
    const text =
      flags.json === true
        ? `${JSON.stringify(all.map((one) => subscriptionJson(one, nowMs)))}\n`
        : subscriptionTable(all, nowMs)
    output.write(text)
  })
}

/** `rxspeech subscription cancel`: running services end its sessions. */
export const cancel = async (clientId: string, flags: StoreFlags, _host: Host, output: Output): Promise<void> => {
  await withStore(flags, (store) => {
    cancelClient(store, clientId)
    output.write(`The subscription ${JSON.stringify(clientId)} is cancelled.\n`)
  })
}

/** `rxspeech subscription rotate`: a new secret, and until when the old one is good. */
export const rotate = async (clientId: string, flags: RotateFlags, host: Host, output: Output): Promise<void> => {
  const overlapMs = planOverlap(flags)
  const nowMs = Date.now()
  await withStore(flags, async (store) => {
    tell(await rotateSecret(store, clientId, { overlapMs, nowMs }), flags, output)
  })
  if (flags.json === true) return
  const until = new Date(nowMs + overlapMs).toISOString()
  host.stderr.write(
    overlapMs === 0
      ? 'The old secret is not good any more.\n'
      : `The old secret stays good until ${until}, so that no client is locked out before it has the new one.\n`,
  )
}
