import { everything, memoryClients, type ClientStore } from 'rxspeech-server/identity/clients/client'
import { hashSecret } from 'rxspeech-server/identity/clients/client-secret'

/** The store of one client, which may use all projects and models of its tenants. */
export const soleClient = async (
  { clientId, clientSecret }: { readonly clientId: string; readonly clientSecret: string },
  tenants: readonly string[],
): Promise<ClientStore> =>
  memoryClients([
    {
      clientId,
      secretHash: await hashSecret(clientSecret),
      tenants,
      projects: [everything],
      models: [everything],
      validFromMs: 0,
      validUntilMs: Number.MAX_SAFE_INTEGER,
      cancelled: false,
    },
  ])
